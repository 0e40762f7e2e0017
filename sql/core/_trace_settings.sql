-- One row per trace with settings, with a column for each setting that has a meaning here.
-- trace_id          VARCHAR    trace
-- trace             VARCHAR    name
-- run               VARCHAR    run it belongs to
-- rank              INTEGER    rank in the job
-- model             VARCHAR    model
-- config            VARCHAR    the model's config.json
-- profile           VARCHAR    profile that finds the layers
-- anchor            VARCHAR    regular expression for the anchor kernel
-- anchor_role       VARCHAR    begin, inside or end
-- blocks_per_layer  INTEGER    anchors in one layer
-- num_layers        INTEGER    layers of the model
-- hardware          VARCHAR    key of the table hardware
-- tp                INTEGER    degree of tensor parallelism
-- ep                INTEGER    degree of expert parallelism
-- dp                INTEGER    degree of data parallelism
-- pp                INTEGER    degree of pipeline parallelism
-- kv_len            INTEGER    keys that a request of a paged attention sees
-- warm_up_steps     INTEGER    first steps of a program that are warm-up
-- recorded_at       TIMESTAMP  when it was recorded, UTC
-- dedup             VARCHAR    rule for duplicate rows: tracelake, compat or none
CREATE VIEW _trace_settings AS
SELECT
    trace_id,
    max(value) FILTER (key = 'trace') AS trace,
    max(value) FILTER (key = 'run') AS run,
    TRY_CAST(max(value) FILTER (key = 'rank') AS INTEGER) AS rank,
    max(value) FILTER (key = 'model') AS model,
    max(value) FILTER (key = 'config') AS config,
    max(value) FILTER (key = 'profile') AS profile,
    max(value) FILTER (key = 'anchor') AS anchor,
    max(value) FILTER (key = 'anchor_role') AS anchor_role,
    TRY_CAST(max(value) FILTER (key = 'blocks_per_layer') AS INTEGER) AS blocks_per_layer,
    TRY_CAST(max(value) FILTER (key = 'num_layers') AS INTEGER) AS num_layers,
    max(value) FILTER (key = 'hardware') AS hardware,
    TRY_CAST(max(value) FILTER (key = 'tp') AS INTEGER) AS tp,
    TRY_CAST(max(value) FILTER (key = 'ep') AS INTEGER) AS ep,
    TRY_CAST(max(value) FILTER (key = 'dp') AS INTEGER) AS dp,
    TRY_CAST(max(value) FILTER (key = 'pp') AS INTEGER) AS pp,
    TRY_CAST(max(value) FILTER (key = 'kv_len') AS INTEGER) AS kv_len,
    TRY_CAST(max(value) FILTER (key = 'warm_up_steps') AS INTEGER) AS warm_up_steps,
    TRY_CAST(max(value) FILTER (key = 'recorded_at') AS TIMESTAMP) AS recorded_at,
    -- seed is the former name of the rule compat.
    replace(max(value) FILTER (key = 'dedup'), 'seed', 'compat') AS dedup
FROM _settings
GROUP BY trace_id;
