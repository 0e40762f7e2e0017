-- One row per device operation that an operator launched with a separate call: the counted operator
-- that caused it, which is that operator or one around it. What is launched inside a counted
-- operator is part of it, unless the innermost operator there only moves elements.
--
-- stored: per trace
--
-- key: trace_id, kernel_id
--
-- trace_id       VARCHAR  trace
-- kernel_id      BIGINT   event_id of the operation
-- counted_op_id  BIGINT   operator that caused it, op_id in counted_operators; NULL if none did
-- own_work_id    UBIGINT  work of the innermost operator around the launch if that only moves
--                         elements, in operator_works; NULL if it does not
CREATE VIEW kernel_operators AS
WITH launched AS (
    SELECT
        trace_id, kernel_id, op_id, launch_id,
        CASE
            WHEN op_name IS NOT NULL
                THEN work_id(op_name, input_dims, input_types, CAST(NULL AS VARCHAR))
        END AS own_work_id
    FROM kernels
    -- An operator around the launch of a graph does not describe the graph's kernels.
    WHERE coalesce(launch_kernels, 1) = 1 AND coalesce(op_id, launch_id) IS NOT NULL
)
SELECT
    k.trace_id, k.kernel_id,
    coalesce(own.op_id, CASE WHEN moved.work_id IS NULL THEN around.counted_op_id END)
        AS counted_op_id,
    moved.work_id AS own_work_id
FROM launched AS k
LEFT JOIN counted_operators AS own ON own.trace_id = k.trace_id AND own.op_id = k.op_id
LEFT JOIN operator_works AS moved
    ON moved.trace_id = k.trace_id AND moved.work_id = k.own_work_id
    AND moved.family = 'memory'
LEFT JOIN launch_operators AS around
    ON around.trace_id = k.trace_id AND around.launch_id = k.launch_id
WHERE coalesce(own.op_id, around.counted_op_id) IS NOT NULL OR k.own_work_id IS NOT NULL;
