-- One row per row of a table of kernels that a window holds: `_extracted(trace_id, window_kind,
-- pass, device, first, count)`. NULL selects all passes or devices; the table has `count` rows from
-- the event `first` on.
-- trace_id    VARCHAR  trace
-- kernel_id   BIGINT   the operation
-- row_no      BIGINT   row of the table, from 1
-- start_ns    BIGINT   its start
-- end_ns      BIGINT   its end
-- part        VARCHAR  compute, communication or service
-- counted     BOOLEAN  it counts: no other row stands for the same work
-- ends_after  BOOLEAN  it ends after the window
CREATE MACRO _extracted(of_trace, of_window, of_pass, of_device, first_row, row_count) AS TABLE
SELECT
    trace_id, kernel_id, kernel_id - first_row + 1 AS row_no, start_ns, end_ns, part, counted,
    ends_after
FROM window_kernels
WHERE
    trace_id = of_trace AND window_kind = of_window
    AND kernel_id BETWEEN first_row AND first_row + row_count - 1
    AND (of_device IS NULL OR device = of_device) AND (of_pass IS NULL OR pass_id = of_pass);
