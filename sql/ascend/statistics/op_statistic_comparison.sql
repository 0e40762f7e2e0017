-- One row per type of operation and kind of core of op_statistic.csv: its sums, and those of the
-- rows of the same trace's table of kernels.
--
-- key: trace_id, device, op_type, core?
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device, -1 where the file has none and the trace has no such kernels
-- op_type       VARCHAR  type of operation
-- core          VARCHAR  kind of core
-- file_count    BIGINT   rows, from the file
-- kernel_count  BIGINT   rows of the trace, NULL if it has none
-- file_us       DOUBLE   sum of durations in the file, µs
-- kernel_us     DOUBLE   of the rows of the trace, µs
-- diff_us       DOUBLE   the trace's minus the file's, µs
-- diff_pct      DOUBLE   that as a share of the file's whole time
CREATE VIEW op_statistic_comparison AS
WITH typed AS (
    SELECT
        trace_id, event_id,
        TRY_CAST(max(value) FILTER (header = 'deviceid') AS INTEGER) AS device,
        max(value) FILTER (header = 'optype') AS op_type,
        max(value) FILTER (header = 'coretype') AS core,
        TRY_CAST(max(value) FILTER (header = 'count') AS BIGINT) AS file_count,
        TRY_CAST(max(value) FILTER (header = 'totaltimeus') AS DOUBLE) AS file_us
    FROM _companion_cells
    WHERE kind = 'op_statistic'
    GROUP BY trace_id, event_id
),
summed AS (
    -- A file of an offline model has a row per model.
    SELECT
        trace_id, device, op_type, core, sum(file_count) AS file_count, sum(file_us) AS file_us,
        sum(sum(file_us)) OVER (PARTITION BY trace_id, device) AS whole_us
    FROM typed
    GROUP BY trace_id, device, op_type, core
)
SELECT
    file.trace_id, traces.rank, coalesce(file.device, ours.device, -1) AS device, file.op_type,
    file.core, CAST(file_count AS BIGINT) AS file_count, count AS kernel_count, file_us,
    sum_us AS kernel_us, coalesce(sum_us, 0) - file_us AS diff_us,
    100 * (coalesce(sum_us, 0) - file_us) / nullif(whole_us, 0) AS diff_pct
FROM summed AS file
JOIN traces ON traces.trace_id = file.trace_id
-- A file alone has nothing to be compared with.
SEMI JOIN ascend_kernels AS any_kernel ON any_kernel.trace_id = file.trace_id
LEFT JOIN op_statistics AS ours
    ON ours.trace_id = file.trace_id AND ours.op_type = file.op_type
    AND ours.core IS NOT DISTINCT FROM file.core
    AND ours.device = coalesce(file.device, ours.device);
