-- One row per XLA operation, from the lines that a device has for them: when and where it ran. Its
-- description is in _xla_texts, one row for all operations that share it: an instruction in a loop
-- runs thousands of times, and its arguments are parsed once.
--
-- stored: per jax trace
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- kernel_id  BIGINT   event_id
-- pid        VARCHAR  process of the line
-- tid        VARCHAR  thread of the line
-- role       VARCHAR  op, or async: in flight beside the operations
-- start_ns   BIGINT   start, ns
-- end_ns     BIGINT   end, ns
-- copies     BOOLEAN  the line shows only copies
-- text_id    UBIGINT  hash of name, arguments and kind of line, see _xla_texts
CREATE VIEW _xla_ops AS
WITH xla_lines AS (
    SELECT
        trace_id, rank, device, pid, tid, CASE role WHEN 'async' THEN 'async' ELSE 'op' END AS role,
        -- The name lists what runs on a stream: "Stream #14(Compute,MemcpyD2D)".
        contains(thread, 'Memcpy') AND NOT regexp_matches(thread, '(?i)kernel|compute') AS copies
    FROM lines
    WHERE role IN ('operation', 'async') AND starts_with(process, '/device:')
)
SELECT
    events.trace_id, xla_lines.rank, xla_lines.device, event_id AS kernel_id, events.pid,
    events.tid, if(offloaded.kernel_id IS NULL, xla_lines.role, 'async') AS role, start_ns, end_ns,
    copies, hash(name, copies, _xla_arguments(args)) AS text_id
FROM events
JOIN xla_lines USING (trace_id, pid, tid)
LEFT JOIN offloaded_operations AS offloaded
    ON offloaded.trace_id = events.trace_id AND offloaded.kernel_id = event_id
WHERE lane = 'device' AND dur_ns >= 0;
