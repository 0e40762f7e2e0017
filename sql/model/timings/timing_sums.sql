-- One row per scenario with timed kernels: where their time went. Assigned, overhead and unmapped
-- sum to the time of all kernels, to the last digit.
--
-- key: request
--
-- request       VARCHAR        scenario
-- kernel_count  BIGINT         kernels, or categories where only sums are given
-- sum_us        DECIMAL(38,9)  time of all, µs
-- assigned_us   DECIMAL(38,9)  time of kernels that belong to operators, µs
-- overhead_us   DECIMAL(38,9)  time of kernels that belong to no operator, µs
-- unmapped_us   DECIMAL(38,9)  time of kernels of unknown operators, µs
-- coverage_pct  DOUBLE         assigned and overhead, as a share of all
-- untimed_pct   DOUBLE         share of the layer's FLOP in operators that have no time
-- stated_us     DOUBLE         time of all kernels as stated beside them, µs; NULL if not stated
-- unlisted_us   DOUBLE         stated_us without that of the kernels listed, µs
CREATE VIEW timing_sums AS
WITH exact AS (
    SELECT request, fate, CAST(dur_us AS DECIMAL(38, 9)) AS dur_us
    FROM timing_kernels
),
operator_times AS (
    SELECT
        request,
        100 * coalesce(sum(flop_rank) FILTER (group_id IS NULL), 0)
        / nullif(sum(flop_rank), 0) AS untimed_pct
    FROM timing_template
    LEFT JOIN _timing_groups USING (request, op_seq)
    WHERE is_measured
    GROUP BY request
),
summed AS (
    SELECT
        request, count(*) AS kernel_count, sum(dur_us) AS sum_us,
        coalesce(sum(dur_us) FILTER (fate = 'assigned'), 0) AS assigned_us,
        coalesce(sum(dur_us) FILTER (fate = 'overhead'), 0) AS overhead_us,
        coalesce(sum(dur_us) FILTER (fate = 'unmapped'), 0) AS unmapped_us
    FROM exact
    GROUP BY request
)
SELECT
    request, kernel_count, sum_us, assigned_us, overhead_us, unmapped_us,
    100 * CAST(assigned_us + overhead_us AS DOUBLE) / nullif(CAST(sum_us AS DOUBLE), 0)
        AS coverage_pct,
    untimed_pct, total_dur_us AS stated_us, total_dur_us - CAST(sum_us AS DOUBLE) AS unlisted_us
FROM summed
JOIN timing_metadata USING (request)
LEFT JOIN operator_times USING (request);
