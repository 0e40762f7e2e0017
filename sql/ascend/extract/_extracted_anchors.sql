-- One row per type of anchor that a window holds. Arguments are those of _extracted.
-- type     VARCHAR  its shortened name
-- anchors  BIGINT   number of anchors
CREATE MACRO _extracted_anchors(
    of_trace, of_window, of_pass, of_device, first_row, row_count
) AS TABLE
SELECT k.display_name AS type, count(*) AS anchors
FROM _extracted(of_trace, of_window, of_pass, of_device, first_row, row_count) AS c
JOIN anchors AS a ON a.trace_id = c.trace_id AND a.kernel_id = c.kernel_id
JOIN kernels AS k ON k.trace_id = c.trace_id AND k.kernel_id = c.kernel_id
GROUP BY k.display_name;
