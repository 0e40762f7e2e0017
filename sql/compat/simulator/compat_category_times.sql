-- One row per kernel category of a summary of kernels: how the reference's compute simulator
-- assigns its time. Lost times are in none of its tables.
--
-- key: request, position
--
-- request      VARCHAR  scenario, from compat_requests
-- position     BIGINT   the category's place among those given
-- category     VARCHAR  kernel category
-- fate         VARCHAR  named (its own operators get it), pool, overhead or lost
-- dur_us       DOUBLE   its time, µs
-- assigned_us  DOUBLE   part that operators get, µs
-- overhead_us  DOUBLE   part called overhead, µs
-- lost_us      DOUBLE   part that vanishes, µs
CREATE VIEW compat_category_times AS
WITH ways AS (
    SELECT request, position, any_value(way) AS way
    FROM _compat_spread
    GROUP BY request, position
),
fated AS (
    SELECT
        request, position, category, dur_us,
        CASE WHEN len(operators) = 0 THEN 'overhead' ELSE coalesce(way, 'lost') END AS fate
    FROM timing_metadata
    JOIN compat_requests USING (request)
    JOIN category_timings USING (request)
    LEFT JOIN compat_timing_categories USING (category)
    LEFT JOIN ways USING (request, position)
    WHERE form = 'kernel_detail'
)
SELECT
    request, position, category, fate, dur_us,
    CASE WHEN fate IN ('named', 'pool') THEN dur_us ELSE 0 END AS assigned_us,
    CASE WHEN fate = 'overhead' THEN dur_us ELSE 0 END AS overhead_us,
    CASE WHEN fate = 'lost' THEN dur_us ELSE 0 END AS lost_us
FROM fated;
