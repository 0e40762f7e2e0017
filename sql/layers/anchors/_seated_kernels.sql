-- One row per device operation whose layer is found by an anchor's name, as in _heard_kernels, with
-- its model if several take turns.
-- trace_id        VARCHAR  trace
-- series          VARCHAR  the model, empty if the trace has only one
-- device          INTEGER  device
-- stream          BIGINT   the stream
-- kernel_id       BIGINT   the operation
-- start_ns        BIGINT   its start
-- end_ns          BIGINT   its end
-- dur_ns          BIGINT   its duration
-- name            VARCHAR  its name, or type
-- category        VARCHAR  its category
-- kind            VARCHAR  compute, communication or memory
-- call_ns         BIGINT   start of the call of a model around the launch, NULL if unknown
-- turn_ns         BIGINT   start of the model's turn, NULL unless several models take turns
CREATE VIEW _seated_kernels AS
SELECT
    k.trace_id, CASE WHEN t.kernel_id IS NULL THEN k.series ELSE t.series END AS series, k.device,
    k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns, k.name, k.category, k.kind,
    k.call_ns, t.turn_ns
FROM _heard_kernels AS k
LEFT JOIN _turned_kernels AS t ON t.trace_id = k.trace_id AND t.kernel_id = k.kernel_id
WHERE t.kernel_id IS NULL OR t.series IS NOT NULL;
