-- One row per step of the host, by its start.
-- trace_id  VARCHAR  trace
-- start_ns  BIGINT   start
-- end_ns    BIGINT   end, the latest where several steps start at once
CREATE VIEW _host_steps AS
SELECT trace_id, start_ns, max(end_ns) AS end_ns
FROM _steps
WHERE device IS NULL
GROUP BY trace_id, start_ns;
