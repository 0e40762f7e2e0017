-- One row per slice that is added to a timeline of the trace's own events: passes with their layers
-- and halves, steps, idle time with its cause, and findings.
--
-- A pass holds its layers and a layer its halves: the slice of `path` is drawn inside that of
-- `parent`. A layer of one block has no halves here. A finding has no time of its own: it is drawn
-- over the whole trace, below earlier findings. Steps without work on the device have no row.
--
-- key: trace_id, device, track, path
--
-- trace_id       VARCHAR  trace
-- device         INTEGER  device; -1, Kineto's number of the host, for findings
-- track          VARCHAR  passes, steps, idle or findings
-- kind           VARCHAR  pass, prologue, between, epilogue, gap, layer, half, step, idle or
--                         finding
-- name           VARCHAR  label of the slice; for idle time its cause
-- path           VARCHAR  name of the slice, unique within its track
-- parent         VARCHAR  path of the slice around it, NULL if there is none
-- depth          BIGINT   slices around it
-- start_ns       BIGINT   start in ns on the file's clock
-- end_ns         BIGINT   end in ns on the file's clock
-- pass_id        BIGINT   pass
-- layer_id       BIGINT   layer
-- layer_type     VARCHAR  type of the layer by the model's config, or kind by the kernels
-- half           VARCHAR  half of the layer
-- sum_ms         DOUBLE   sum of the durations of its kernels, ms
-- step_id        BIGINT   step
-- step_source    VARCHAR  what marks the step
-- gap_id         BIGINT   gap
-- host_bound_us  DOUBLE   part of the gap in which the device waited for the host to launch, µs
-- previous_name  VARCHAR  operation before the gap
-- next_name      VARCHAR  first operation after the gap that does work
-- severity       VARCHAR  severity of a finding: high, medium or info
-- gain_us        DOUBLE   most device time that a finding could save, over all devices, µs
-- evidence       VARCHAR  figures of a finding, in words
-- advice         VARCHAR  what to try, one sentence after another
CREATE VIEW perfetto_marks AS
WITH named AS (
    SELECT
        trace_id, device, 'passes' AS track, range AS kind, pass_id, layer_id, layer_type, sum_ms,
        start_ns, end_ns,
        CASE range
            WHEN 'pass' THEN concat('pass ', pass_id)
            WHEN 'layer' THEN concat_ws(' ', 'layer', layer_id, layer_type)
            ELSE concat(range, ' of pass ', pass_id)
        END AS name
    FROM perfetto_ranges
)
SELECT
    trace_id, device, track, kind, name,
    CASE kind
        WHEN 'pass' THEN concat(pass_id)
        WHEN 'layer' THEN concat(pass_id, '/', layer_id)
        ELSE concat(pass_id, '/', kind)
    END AS path,
    CASE WHEN kind IN ('layer', 'between') THEN concat(pass_id) END AS parent,
    CAST(kind IN ('layer', 'between') AS BIGINT) AS depth, start_ns, end_ns, pass_id, layer_id,
    layer_type, CAST(NULL AS VARCHAR) AS half, sum_ms, CAST(NULL AS BIGINT) AS step_id,
    CAST(NULL AS VARCHAR) AS step_source, CAST(NULL AS BIGINT) AS gap_id,
    CAST(NULL AS DOUBLE) AS host_bound_us, CAST(NULL AS VARCHAR) AS previous_name,
    CAST(NULL AS VARCHAR) AS next_name, CAST(NULL AS VARCHAR) AS severity,
    CAST(NULL AS DOUBLE) AS gain_us, CAST(NULL AS VARCHAR) AS evidence,
    CAST(NULL AS VARCHAR) AS advice
FROM named
UNION ALL BY NAME
SELECT
    trace_id, device, 'passes' AS track, 'half' AS kind, half AS name,
    concat(pass_id, '/', layer_id, '/', half) AS path, concat(pass_id, '/', layer_id) AS parent,
    2 AS depth, start_ns, end_ns, pass_id, layer_id, half, sum_us / 1000 AS sum_ms
FROM layer_halves
WHERE half <> 'full' AND start_ns IS NOT NULL
UNION ALL BY NAME
SELECT
    trace_id, device, 'steps' AS track, 'step' AS kind,
    concat_ws(' ', 'step', coalesce(step_number, step_id), program) AS name,
    concat(step_id) AS path, 0 AS depth, start_ns, end_ns, step_id, step_source
FROM steps
WHERE device >= 0 AND start_ns IS NOT NULL
UNION ALL BY NAME
SELECT
    trace_id, device, 'idle' AS track, 'idle' AS kind, coalesce(cause, 'idle') AS name,
    concat(gap_id) AS path, 0 AS depth, start_ns, end_ns, step_id, gap_id, host_bound_us,
    previous_name, payload_name AS next_name
FROM gaps
UNION ALL BY NAME
SELECT
    trace_id, -1 AS device, 'findings' AS track, 'finding' AS kind, title AS name, finding AS path,
    lag(finding) OVER ranked AS parent, row_number() OVER ranked - 1 AS depth,
    traces.start_ns, traces.end_ns, severity, gain_us, evidence,
    array_to_string(suggestions, ' ') AS advice
FROM findings
JOIN traces USING (trace_id)
WINDOW ranked AS (PARTITION BY trace_id ORDER BY priority, finding);
