-- One row per pass and window of it, with the fields of its description.
-- trace_id          VARCHAR  trace
-- pass_id           BIGINT   pass, from 0
-- window_kind       VARCHAR  anchor, extended, monotonic or whole
-- device            INTEGER  device
-- stage             VARCHAR  prefill, decode or mixed
-- tokens            BIGINT   tokens computed
-- requests          BIGINT   requests served
-- pass_source       VARCHAR  how the pass was found
-- complete          BOOLEAN  it has all layers of the model
-- num_layers        INTEGER  layers of the model
-- layer_count       BIGINT   layers found
-- complete_ordinal  BIGINT   number of a complete pass among those of the device, from 1
-- start_ns          BIGINT   start of the window
-- end_ns            BIGINT   end of the window
-- gap_threshold_us  DOUBLE   idle time that separates passes
CREATE VIEW _extract_windows AS
WITH numbered AS (
    SELECT
        trace_id, pass_id, device, stage, tokens, requests, pass_source, complete, num_layers,
        layer_count,
        CASE
            WHEN complete THEN count(CASE WHEN complete THEN 1 END) OVER (
                PARTITION BY trace_id, device ORDER BY pass_id
            )
        END AS complete_ordinal
    FROM passes
)
SELECT
    p.trace_id, p.pass_id, w.window_kind, p.device, p.stage, p.tokens, p.requests, p.pass_source,
    p.complete, p.num_layers, p.layer_count, p.complete_ordinal, w.start_ns, w.end_ns,
    w.gap_threshold_us
FROM numbered AS p
JOIN pass_windows AS w
    ON w.trace_id = p.trace_id
    AND w.device = p.device
    AND w.pass_id = p.pass_id;
