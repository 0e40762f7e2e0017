-- One row per device, path and phase: the sums of the operations that have just this path.
--
-- Materialised per trace.
--
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device
-- path      VARCHAR  scopes, => between; (unattributed) and the operation's name where unknown
-- phase     VARCHAR  forward, backward or recompute, NULL where not told
-- display   VARCHAR  path to show
-- calls     BIGINT   operations
-- self_ns   BIGINT   sum of their own times, ns
CREATE VIEW _path_totals AS
SELECT
    trace_id, rank, device,
    coalesce(path, '(unattributed)=>' || canonical_name) AS path,
    phase,
    any_value(coalesce(display_path, '(unattributed)=>' || canonical_name)) AS display,
    count(*) AS calls,
    CAST(sum(self_ns) AS BIGINT) AS self_ns
FROM _device_ops
WHERE role = 'op'
GROUP BY
    trace_id, rank, device, coalesce(path, '(unattributed)=>' || canonical_name), phase;
