-- One row per trace and check of its layers: were passes found, and do they explain every anchor?
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  ok, info, warning or error
-- value      DOUBLE   what was counted
-- threshold  DOUBLE   the value from which on it is worth a word
-- message    VARCHAR  what was found and what it means
CREATE VIEW layer_checks AS
WITH devices AS (
    SELECT trace_id, rank, device, max(remainder) AS remainder, count(*) AS passes
    FROM passes
    GROUP BY trace_id, rank, device
),
found AS (
    SELECT trace_id, sum(remainder) AS remainder, sum(passes) AS passes
    FROM devices
    GROUP BY trace_id
),
traces_with_kernels AS (
    SELECT DISTINCT trace_id FROM kernels
)
SELECT
    trace_id,
    'no_passes' AS "check",
    CASE WHEN passes IS NULL THEN 'info' ELSE 'ok' END AS severity,
    CAST(coalesce(passes, 0) AS DOUBLE) AS value,
    CAST(1 AS DOUBLE) AS threshold,
    'no anchor kernel marks layers: set anchor=… num_layers=… or profile=…' AS message
FROM traces_with_kernels
LEFT JOIN found USING (trace_id)
UNION ALL
SELECT
    trace_id,
    'unexplained_anchors' AS "check",
    CASE WHEN remainder > 0 THEN 'warning' ELSE 'ok' END AS severity,
    CAST(remainder AS DOUBLE) AS value,
    CAST(1 AS DOUBLE) AS threshold,
    'anchors are left over when whole passes are counted: a partial pass, or a wrong number of layers' AS message
FROM found;
