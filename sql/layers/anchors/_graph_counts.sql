-- One row per launch of a graph that runs attention at least twice, and kernel that it runs more
-- than three times: kernels that run less often may be outside the layers, or of no model.
--
-- stored: meanwhile
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device
-- launch_id     BIGINT   the launch
-- name          VARCHAR  name of the kernel
-- calls         BIGINT   how often it runs
-- is_attention  BOOLEAN  it is attention
CREATE VIEW _graph_counts AS
SELECT
    g.trace_id, g.device, g.launch_id, k.name, count(*) AS calls,
    coalesce(bool_or(r.role = 'inside'), FALSE) AS is_attention
FROM kernels AS k
LEFT JOIN anchor_roles AS r ON r.category = k.category
JOIN _attending_graphs AS g
    ON g.trace_id = k.trace_id AND g.device = k.device AND g.launch_id = k.launch_id
GROUP BY g.trace_id, g.device, g.launch_id, k.name
HAVING count(*) > 3;
