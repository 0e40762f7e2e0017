-- One row per Ascend trace and device: the total of its collectives with and without duplicate
-- rows, and what else the trace has twice.
--
-- key: trace_id, device
--
-- trace_id               VARCHAR  trace
-- rank                   INTEGER  rank in the job, NULL if unknown
-- device                 INTEGER  device
-- dedup                  VARCHAR  rule in force: tracelake, compat or none
-- hcom_rows              BIGINT   logical and physical rows of collectives
-- hcom_us                DOUBLE   sum of their durations, us
-- counted_rows           BIGINT   those that count
-- counted_us             DOUBLE   sum of their durations, us
-- removed_rows           BIGINT   those that do not
-- removed_us             DOUBLE   sum of their durations, us
-- aiv_exact_rows         BIGINT   of these, with the start and duration of another
-- aiv_exact_us           DOUBLE   sum of their durations, us
-- aiv_near_rows          BIGINT   of these, within a microsecond of another
-- aiv_near_us            DOUBLE   sum of their durations, us
-- compat_rows            BIGINT   of these, removed by the rule compat
-- compat_us              DOUBLE   sum of their durations, us
-- unpaired_rows          BIGINT   physical rows without a logical one; they count
-- unpaired_us            DOUBLE   sum of their durations, us
-- service_rows           BIGINT   rows of the AI CPU's part in collectives
-- service_us             DOUBLE   sum of their durations, us
-- service_unpaired_rows  BIGINT   of these, without a logical row
-- small_task_rows        BIGINT   copies and signals inside of collectives that do not count
-- small_task_us          DOUBLE   sum of their durations, us
-- timeline_twin_rows     BIGINT   rows of the timeline that a table of kernels has, too
-- timeline_twin_us       DOUBLE   sum of their durations, us
-- exact_duplicates       BIGINT   rows of a table that repeat an earlier one byte by byte; they
--                                 count
-- exact_duplicates_us    DOUBLE   sum of their durations, us
CREATE VIEW double_counts AS
WITH repeated AS (
    SELECT
        trace_id, kernel_id,
        row_number() OVER (
            PARTITION BY trace_id, device, start_ns, name, content ORDER BY kernel_id
        ) > 1 AS is_repeat
    FROM _ascend_rows
    WHERE source = 'csv'
),
judged AS (
    SELECT
        trace_id, device, dur_ns, counted, dup_reason, comm_role, unpaired,
        comm_role IN ('logical', 'physical')
            AND dup_reason IS DISTINCT FROM 'timeline_twin' AS is_hcom,
        comm_role = 'service' AND dup_reason IS DISTINCT FROM 'timeline_twin' AS is_service,
        coalesce(is_repeat, FALSE) AS is_repeat
    FROM ascend_kernels
    LEFT JOIN repeated USING (trace_id, kernel_id)
)
SELECT
    trace_id,
    traces.rank,
    device,
    coalesce(traces.dedup, 'tracelake') AS dedup,
    count(*) FILTER (is_hcom) AS hcom_rows,
    coalesce(sum(dur_ns) FILTER (is_hcom), 0) / 1000 AS hcom_us,
    count(*) FILTER (is_hcom AND counted) AS counted_rows,
    coalesce(sum(dur_ns) FILTER (is_hcom AND counted), 0) / 1000 AS counted_us,
    count(*) FILTER (is_hcom AND NOT counted) AS removed_rows,
    coalesce(sum(dur_ns) FILTER (is_hcom AND NOT counted), 0) / 1000 AS removed_us,
    count(*) FILTER (dup_reason = 'aiv_exact') AS aiv_exact_rows,
    coalesce(sum(dur_ns) FILTER (dup_reason = 'aiv_exact'), 0) / 1000 AS aiv_exact_us,
    count(*) FILTER (dup_reason = 'aiv_near') AS aiv_near_rows,
    coalesce(sum(dur_ns) FILTER (dup_reason = 'aiv_near'), 0) / 1000 AS aiv_near_us,
    count(*) FILTER (dup_reason = 'compat') AS compat_rows,
    coalesce(sum(dur_ns) FILTER (dup_reason = 'compat'), 0) / 1000 AS compat_us,
    count(*) FILTER (comm_role = 'physical' AND unpaired) AS unpaired_rows,
    coalesce(sum(dur_ns) FILTER (comm_role = 'physical' AND unpaired), 0) / 1000 AS unpaired_us,
    count(*) FILTER (is_service) AS service_rows,
    coalesce(sum(dur_ns) FILTER (is_service), 0) / 1000 AS service_us,
    count(*) FILTER (is_service AND unpaired) AS service_unpaired_rows,
    count(*) FILTER (dup_reason = 'small_task') AS small_task_rows,
    coalesce(sum(dur_ns) FILTER (dup_reason = 'small_task'), 0) / 1000 AS small_task_us,
    count(*) FILTER (dup_reason = 'timeline_twin') AS timeline_twin_rows,
    coalesce(sum(dur_ns) FILTER (dup_reason = 'timeline_twin'), 0) / 1000 AS timeline_twin_us,
    count(*) FILTER (is_repeat) AS exact_duplicates,
    coalesce(sum(dur_ns) FILTER (is_repeat), 0) / 1000 AS exact_duplicates_us
FROM judged
JOIN traces USING (trace_id)
GROUP BY trace_id, traces.rank, device, traces.dedup;
