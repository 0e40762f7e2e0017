-- One row per attention kernel that a backward function of PyTorch launched and that its gradient
-- follows at once: no norm, activation or compiled kernel stands between them, as in a layer. The
-- attention alone is computed again (selective checkpointing), in the middle of what runs backward
-- through its layer: it does not show where that begins.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the kernel
CREATE VIEW _attention_again AS
WITH seen AS (
    SELECT
        k.trace_id, k.device, k.stream, k.kernel_id, k.start_ns,
        coalesce(r.role = 'inside', FALSE) AS is_attention, b.name IS NOT NULL AS is_gradient
    FROM kernels AS k
    SEMI JOIN _backward_launches AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    LEFT JOIN _backward_names AS b
        ON b.trace_id = k.trace_id AND b.name = k.name AND b.op_name IS NOT DISTINCT FROM k.op_name
    WHERE r.role IN ('begin', 'inside') OR k.category IN ('activation', 'fused', 'moe', 'moe_gemm')
)
SELECT again.trace_id, again.kernel_id
FROM (SELECT * FROM seen WHERE is_attention AND NOT is_gradient) AS again
ASOF JOIN (SELECT * FROM seen WHERE NOT is_attention OR is_gradient) AS next
    ON next.trace_id = again.trace_id AND next.device = again.device
    AND next.stream = again.stream AND next.start_ns >= again.start_ns
WHERE next.is_attention;
