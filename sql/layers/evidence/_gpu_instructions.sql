-- One row per operation on a stream of a GPU that XLA's profiler recorded: the instruction of the
-- compiled program that launched it. Its name is that of a function, such as a product of cuBLAS,
-- which several instructions call, forward and backward.
--
-- stored: per jax trace
--
-- trace_id     VARCHAR  trace
-- kernel_id    BIGINT   the operation
-- instruction  VARCHAR  name of the operation and of the instruction (hlo_op), which may launch
--                       several; NULL if the profiler names none, or only a command buffer
-- hlo_op       VARCHAR  the instruction alone, NULL as above
CREATE VIEW _gpu_instructions AS
SELECT
    trace_id, event_id AS kernel_id, name || ' ' || hlo_op AS instruction, hlo_op
FROM (
    SELECT
        e.trace_id, e.event_id, e.name,
        CASE WHEN NOT starts_with(e.args ->> '$.hlo_op', 'command_buffer')
            THEN e.args ->> '$.hlo_op' END AS hlo_op
    FROM events AS e
    JOIN lines AS l ON l.trace_id = e.trace_id AND l.pid = e.pid AND l.tid = e.tid
    WHERE e.lane = 'device' AND starts_with(l.thread, 'Stream #')
);
