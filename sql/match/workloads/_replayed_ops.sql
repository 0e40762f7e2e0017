-- One row per kernel replayed by a graph whose capture is in the lake: the operators in the
-- capture's trace.
--
-- others: _capture_links
--
-- trace_id      VARCHAR  trace of the kernel
-- kernel_id     BIGINT   the kernel
-- op_trace_id   VARCHAR  trace of the capture
-- op_id         BIGINT   counted operator there that launched the captured kernel
-- op_name       VARCHAR  innermost operator around that launch
-- own_work_id   UBIGINT  its work if it only moves elements, in operator_works of that trace
CREATE VIEW _replayed_ops AS
WITH captured AS (
    SELECT
        trace_id, kernel_id, capture_trace_id, capture_launch_id, op_name,
        work_id(op_name, input_dims, input_types, CAST(NULL AS VARCHAR)) AS own_work_id
    FROM captured_kernels
    -- Captures that differ in shapes are left out.
    WHERE captures = 1 OR input_dims IS NOT NULL
)
SELECT
    c.trace_id, c.kernel_id, c.capture_trace_id AS op_trace_id,
    CASE WHEN moved.work_id IS NULL THEN around.counted_op_id END AS op_id, c.op_name,
    moved.work_id AS own_work_id
FROM captured AS c
LEFT JOIN operator_works AS moved
    ON moved.trace_id = c.capture_trace_id AND moved.work_id = c.own_work_id
    AND moved.family = 'memory'
LEFT JOIN launch_operators AS around
    ON around.trace_id = c.capture_trace_id AND around.launch_id = c.capture_launch_id;
