-- One row per trace, device, type of operation and kind of core: the sums of op_statistic.csv, from
-- the rows of the table of kernels.
--
-- The file counts every row, including duplicates; the columns counted and counted_us have those in
-- `kernels`.
--
-- key: trace_id, device, op_type, core?
--
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL if unknown
-- device      INTEGER  device
-- op_type     VARCHAR  type of operation, as the file has it
-- core        VARCHAR  kind of core; NULL if the profiler did not write it
-- count       BIGINT   rows
-- sum_us      DOUBLE   sum of their durations, µs
-- min_us      DOUBLE   shortest, µs
-- mean_us     DOUBLE   mean, µs
-- max_us      DOUBLE   longest, µs
-- ratio_pct   DOUBLE   share of the device's total
-- counted     BIGINT   rows that are not duplicates
-- counted_us  DOUBLE   sum of their durations, µs
-- removed_us  DOUBLE   sum of the others' durations, µs
CREATE VIEW op_statistics AS
WITH listed AS (
    -- A timeline beside a table shows the same rows again, and others that the table leaves out.
    SELECT trace_id, rank, device, op_type, core, dur_ns, counted
    FROM ascend_kernels
    WHERE core_group IS DISTINCT FROM 'control'
    QUALIFY source = min(source) OVER (PARTITION BY trace_id, device)
),
sums AS (
    SELECT
        trace_id, rank, device, op_type, core, count(*) AS rows_of_file, sum(dur_ns) AS total_ns,
        min(dur_ns) AS min_ns, max(dur_ns) AS max_ns,
        count(*) FILTER (counted) AS counted_rows,
        coalesce(sum(dur_ns) FILTER (counted), 0) AS counted_ns
    FROM listed
    GROUP BY trace_id, rank, device, op_type, core
)
SELECT
    trace_id, rank, device, op_type, core, rows_of_file AS count, total_ns / 1000.0 AS sum_us,
    min_ns / 1000.0 AS min_us, total_ns / 1000.0 / rows_of_file AS mean_us,
    max_ns / 1000.0 AS max_us,
    100 * CAST(total_ns AS DOUBLE) / nullif(sum(total_ns) OVER (PARTITION BY trace_id, device), 0)
        AS ratio_pct,
    counted_rows AS counted, counted_ns / 1000.0 AS counted_us,
    (total_ns - counted_ns) / 1000.0 AS removed_us
FROM sums;
