-- One row per reason why rows that a window holds do not count. Arguments are those of _extracted.
-- rule         VARCHAR   reason, as in ascend_kernels, else the kind of service
-- rows         BIGINT    such rows
-- sum_us       DOUBLE    sum of their durations
-- row_numbers  BIGINT[]  which rows of the table
CREATE MACRO _extracted_duplicates(
    of_trace, of_window, of_pass, of_device, first_row, row_count
) AS TABLE
SELECT
    coalesce(a.dup_reason, c.part) AS rule, count(*) AS rows,
    sum(c.end_ns - c.start_ns) / 1000 AS sum_us, list(c.row_no ORDER BY c.row_no) AS row_numbers
FROM _extracted(of_trace, of_window, of_pass, of_device, first_row, row_count) AS c
JOIN ascend_kernels AS a ON a.trace_id = c.trace_id AND a.kernel_id = c.kernel_id
WHERE NOT c.counted
GROUP BY coalesce(a.dup_reason, c.part);
