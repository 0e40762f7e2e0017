-- One row per stretch of a device's time in which collectives run, with the one that counts for it,
-- see awaited_turns.
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   event_id of the operation
-- start_ns   BIGINT   start of the stretch, ns
-- end_ns     BIGINT   its end, ns
CREATE VIEW _collective_turns AS
WITH ops AS (
    SELECT
        p.trace_id, p.device, 0 AS step_id, coalesce(p.stream, l.lane) AS stream, p.kernel_id,
        p.start_ns, p.end_ns
    FROM _collective_parts AS p
    LEFT JOIN _collective_lanes AS l ON l.trace_id = p.trace_id AND l.kernel_id = p.kernel_id
    WHERE p.role = 'op'
)
SELECT trace_id, device, kernel_id, start_ns, end_ns FROM awaited_turns(ops);
