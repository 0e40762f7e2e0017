-- One row per operation that follows gaps, as in the reference's profile summary, errors included.
-- Gaps are found on each line separately and summed over devices. Provided for comparison with
-- gap_payloads, which is the relation to use.
--
-- key: trace_id, place
--
-- trace_id      VARCHAR  trace
-- place         BIGINT   place in its table, from 1; it shows 500 rows
-- payload_name  VARCHAR  operation that the gaps are attributed to
-- marker_name   VARCHAR  operation that most often ends them
-- gaps          BIGINT   gaps
-- total_us      DOUBLE   their sum, µs
-- max_us        DOUBLE   the longest, µs
-- mean_us       DOUBLE   their mean, µs
CREATE VIEW compat_gaps AS
WITH summed AS (
    SELECT
        trace_id, payload_name, mode(marker_name ORDER BY marker_name) AS marker_name,
        count(*) AS gaps, sum(gap_ns) AS total_ns, max(gap_ns) AS max_ns
    FROM _compat_gaps
    GROUP BY trace_id, payload_name
)
SELECT
    trace_id,
    row_number() OVER (
        PARTITION BY trace_id ORDER BY total_ns DESC, max_ns DESC, payload_name
    ) AS place,
    payload_name, marker_name, gaps, total_ns / 1000.0 AS total_us, max_ns / 1000.0 AS max_us,
    total_ns / 1000.0 / gaps AS mean_us
FROM summed
QUALIFY place <= 500;
