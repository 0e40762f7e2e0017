-- One row per pass and device: what to look at first in its layers.
--
-- trace_id      VARCHAR  trace
-- device        INTEGER  device
-- pass_id       BIGINT   pass, from 0 in time order
-- wall_us       DOUBLE   wall time of its layers
-- layer_type    VARCHAR  their type that takes longest; kind-A and so on without a config, or both
-- layers        BIGINT   layers of that type
-- layer_count   HUGEINT  layers of the pass
-- alike         BOOLEAN  all are of one type
-- pass_pct      DOUBLE   the type's share of the layers' wall time, %
-- target        VARCHAR  kernel category, or idle
-- target_pct    DOUBLE   its share of the type's wall time, %
-- target_note   VARCHAR  reason why target_pct is above 100
-- category      VARCHAR  kernel category with most time
-- coverage_pct  DOUBLE   share of the device's busy time in the layers of the series, %
CREATE VIEW _pass_targets AS
WITH sizes AS (
    SELECT
        trace_id, device, pass_id, sum(layers) AS layer_count,
        sum(layers * mean_wall_us) AS wall_us
    FROM layer_types
    GROUP BY trace_id, device, pass_id
)
SELECT
    b.trace_id, b.device, b.pass_id, s.wall_us,
    concat_ws(' ', b.layer_type, 'kind-' || b.layer_kind) AS layer_type, b.layers, s.layer_count,
    b.type_count = 1 AS alike, b.pass_pct, b.target, b.target_pct, b.target_note, b.category,
    coalesce(b.coverage_pct, 0) AS coverage_pct
FROM layer_bottlenecks AS b
JOIN sizes AS s
    ON s.trace_id = b.trace_id
    AND s.device = b.device
    AND s.pass_id = b.pass_id;
