-- One row per pass and device: what to look at first in its layers. Outliers are those of
-- layer_bottlenecks; of the other columns only wall_us includes them.
--
-- trace_id          VARCHAR   trace
-- device            INTEGER   device
-- pass_id           BIGINT    pass, from 0 in time order
-- wall_us           DOUBLE    wall time of its layers
-- layer_type        VARCHAR   their type that takes longest; kind-A and so on without a config, or
--                             both
-- layers            BIGINT    layers of that type
-- layer_count       HUGEINT   layers of the pass
-- alike             BOOLEAN   all are of one type
-- pass_pct          DOUBLE    the type's share of the layers' wall time, %
-- target            VARCHAR   kernel category, or idle
-- target_pct        DOUBLE    its share of the type's wall time, %
-- target_note       VARCHAR   reason why target_pct is above 100
-- category          VARCHAR   kernel category with most time
-- coverage_pct      DOUBLE    share of the device's busy time in the layers of the series, %
-- spread            STRUCT    shortest and longest layer of the type with their wall times and the
--                             range of the busy times, µs; NULL if no wall time is half as long
--                             again as the shortest
-- outlier           STRUCT    outliers of the pass: ids, their share of the layers' wall time, %,
--                             the longest over the median of its type, and their idle share, %;
--                             NULL if it has none
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
    concat_ws(' ', b.layer_type, 'kind-' || b.layer_kind) AS layer_type, b.layers,
    s.layer_count - coalesce(len(b.outlier_ids), 0) AS layer_count,
    b.type_count = 1 AS alike, b.pass_pct, b.target, b.target_pct, b.target_note, b.category,
    coalesce(b.coverage_pct, 0) AS coverage_pct,
    CASE
        WHEN b.max_wall_us >= 1.5 * b.min_wall_us
            THEN {
                'shortest': b.shortest_id, 'min_wall_us': b.min_wall_us,
                'longest': b.longest_id, 'max_wall_us': b.max_wall_us,
                'min_busy_us': b.min_busy_us, 'max_busy_us': b.max_busy_us
            }
    END AS spread,
    CASE
        WHEN b.outlier_ids IS NOT NULL
            THEN {
                'ids': b.outlier_ids, 'pct': b.outlier_pct, 'ratio': b.outlier_ratio,
                'idle_pct': b.outlier_idle_pct
            }
    END AS outlier
FROM layer_bottlenecks AS b
JOIN sizes AS s
    ON s.trace_id = b.trace_id
    AND s.device = b.device
    AND s.pass_id = b.pass_id;
