-- One row per trace and kernel name that shows something about its arithmetic.
--
-- stored: per trace
--
-- trace_id       VARCHAR  trace
-- name           VARCHAR  name of the kernel
-- dtype          VARCHAR  type of the operands by its name
-- fp32_dtype     VARCHAR  the same if the inputs are FP32: tf32 or fp32
-- is_windowed    BOOLEAN  attention to only some of the keys: a window, or chosen ones
-- has_fp8_cache  BOOLEAN  attention that reads keys and values of one byte
-- is_combine     BOOLEAN  sums up partial results of other kernels
-- is_adapter     BOOLEAN  product with the matrices of LoRA adapters
CREATE VIEW _kernel_words AS
WITH names AS (
    SELECT DISTINCT trace_id, name FROM kernels WHERE kind = 'compute'
),
marked AS (
    SELECT
        n.name, r.mark, r.inputs, arg_min(r.value, r.priority) AS value,
        min(r.priority) AS priority
    FROM (
        SELECT name, unnest(_matching_kernel_marks(lower(name))) AS priority
        FROM (SELECT DISTINCT name FROM names)
    ) AS n
    JOIN kernel_marks AS r ON r.priority = n.priority
    GROUP BY n.name, r.mark, r.inputs
),
given AS (
    SELECT
        name,
        arg_min(value, priority) FILTER (mark = 'dtype') AS dtype,
        arg_min(value, priority) FILTER (mark = 'dtype' AND inputs = 'fp32') AS fp32_dtype,
        bool_or(mark = 'windowed') AS is_windowed, bool_or(mark = 'fp8_cache') AS has_fp8_cache,
        bool_or(mark = 'combine') AS is_combine, bool_or(mark = 'adapter') AS is_adapter
    FROM marked
    GROUP BY name
)
SELECT trace_id, name, dtype, fp32_dtype, is_windowed, has_fp8_cache, is_combine, is_adapter
FROM names
JOIN given USING (name);
