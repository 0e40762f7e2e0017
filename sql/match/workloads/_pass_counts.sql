-- One row per trace with passes: how many are complete, and for how many the tokens are known.
--
-- trace_id  VARCHAR  trace
-- passes    BIGINT   forward passes
-- complete  BIGINT   those that are complete
-- sized     BIGINT   complete ones whose new tokens are known
CREATE VIEW _pass_counts AS
SELECT
    p.trace_id, count(*) AS passes, count(*) FILTER (p.complete) AS complete,
    count(*) FILTER (p.complete AND w.new_tokens > 0) AS sized
FROM passes AS p
LEFT JOIN pass_workloads AS w
    ON w.trace_id = p.trace_id AND w.device = p.device AND w.pass_id = p.pass_id
GROUP BY p.trace_id;
