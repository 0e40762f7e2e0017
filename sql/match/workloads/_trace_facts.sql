-- One row per trace: what a report shows first.
-- trace_id        VARCHAR  trace
-- source_path     VARCHAR  its file; NULL if read from standard input
-- format          VARCHAR  kineto, jax, ascend, ...
-- event_count     BIGINT   events stored
-- rejected_count  BIGINT   events of the file that could not be read
-- truncated       BOOLEAN  the file is cut off
-- length_ms       DOUBLE   from the first event's start to the last one's end, ms
-- model           VARCHAR  model as set
-- config          VARCHAR  its config.json
-- known_model     VARCHAR  the model that it is known to be
-- device_name     VARCHAR  device as the profiler prints it
-- hardware        VARCHAR  key of the table hardware
-- hardware_match  VARCHAR  how the key was found
-- rank            INTEGER  rank in the job, NULL if unknown
-- rank_source     VARCHAR  where the rank is from
-- world_size      INTEGER  ranks of the job
-- tp              INTEGER  degree of tensor parallelism
-- ep              INTEGER  degree of expert parallelism
-- dp              INTEGER  data-parallel replicas
-- pp              INTEGER  pipeline stages
-- kernels         BIGINT   device operations
-- devices         BIGINT   devices that they ran on
-- streams         BIGINT   streams that they ran on, over all devices
-- profile         VARCHAR  profile of its anchors
-- anchor_words    VARCHAR  pattern of the anchors, with where it is from and their role
-- pass_source     VARCHAR  what passes were found by
-- num_layers      BIGINT   layers of the model, by its config or as set; else of known_model
CREATE VIEW _trace_facts AS
WITH operations AS (
    SELECT
        trace_id, count(*) AS kernels, count(DISTINCT device) AS devices,
        count(DISTINCT (device, stream)) AS streams
    FROM kernels
    GROUP BY trace_id
),
anchored AS (
    SELECT
        trace_id,
        any_value(concat(pattern, ' (', pattern_source, ', ', role, ' of its block)'))
            AS anchor_words
    FROM anchors
    GROUP BY trace_id
),
found AS (
    SELECT trace_id, string_agg(DISTINCT pass_source, ', ' ORDER BY pass_source) AS pass_source
    FROM passes
    GROUP BY trace_id
),
known AS (
    SELECT t.trace_id, a.model, a.num_layers
    FROM _trace_models AS t
    JOIN architectures AS a ON a.model = t.model
)
SELECT
    t.trace_id, t.source_path, t.format, t.event_count, t.rejected_count, t.truncated,
    (t.end_ns - t.origin_ns) / 1e6 AS length_ms, t.model, t.config, known.model AS known_model,
    t.device_name, t.hardware, t.hardware_match, t.rank, t.rank_source, t.world_size,
    t.tp, t.ep, t.dp, t.pp, kernels, devices, streams, t.profile, anchor_words, pass_source,
    coalesce(nullif(t.num_layers, 0), known.num_layers) AS num_layers
FROM traces AS t
LEFT JOIN known ON known.trace_id = t.trace_id
LEFT JOIN operations ON operations.trace_id = t.trace_id
LEFT JOIN anchored ON anchored.trace_id = t.trace_id
LEFT JOIN found ON found.trace_id = t.trace_id;
