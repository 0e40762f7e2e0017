-- One row per device operation whose own event has its work: XLA operations have FLOP and bytes,
-- copies and fills the bytes that they copy or fill. An XLA operation that begins or ends a
-- transfer beside the operations (copy-start, copy-done) has no bytes: XLA gives them to both, and
-- the transfer takes another time than either. XLA writes 0 bytes for a custom call that states no
-- cost: they are unknown. Its bytes include those of memory on the chip (VMEM of a TPU).
--
-- A product has the type of its operands: 8 bits if all operands with two dimensions have them or 4
-- (exponents alone, of scales, do not count), or two that fit the result with one inner dimension
-- (others are added or scale it), and the chip multiplies them as such, else XLA widens them to
-- BF16.
--
-- A copy within a device both reads and writes them; between host and device, device memory moves
-- them once, as with a fill.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
-- flop       BIGINT   FLOP, NULL for copies and fills
-- bytes      DOUBLE   bytes read and written, NULL if unknown
-- dtype      VARCHAR  type in which a product of XLA is computed: int8, fp8 or bf16; NULL if its
--                     operands show others or none
CREATE VIEW _profiled_works AS
WITH given AS (
    SELECT
        trace_id, event_id AS kernel_id, name,
        coalesce(
            TRY_CAST(args ->> '$.model_flops' AS BIGINT), TRY_CAST(args ->> '$.flops' AS BIGINT)
        ) AS flop,
        TRY_CAST(args ->> '$.bytes_accessed' AS DOUBLE) AS accessed,
        args ->> '$.hlo_category' AS hlo_category, args ->> '$.long_name' AS instruction,
        TRY_CAST(args ->> '$.bytes' AS DOUBLE) AS copied
    FROM events
    WHERE
        lane = 'device' AND dur_ns IS NOT NULL
        AND (contains(args, '"bytes_accessed"') OR contains(args, '"bytes"'))
),
instructions AS (
    SELECT DISTINCT
        trace_id, instruction, regexp_replace(instruction, '^.*? [a-z][\w-]*\(', '') AS called
    FROM given
    JOIN hlo_categories USING (hlo_category)
    WHERE hlo_categories.category = 'gemm' AND instruction IS NOT NULL
),
-- With more than one dimension, without those of size 1; place is 0 for results.
arrays AS (
    SELECT
        trace_id, instruction, place, dims, CAST(list_product(dims) AS HUGEINT) AS elements,
        dtypes.dtype, dtypes.bytes,
        CASE
            WHEN dtypes.dtype IN ('int8', 'uint8', 'int4', 'uint4') THEN 'int8'
            WHEN dtypes.dtype = 'fp4' THEN 'fp8'
            ELSE dtypes.dtype
        END AS computed_dtype
    FROM (
        SELECT
            trace_id, instruction, place, split_part(shape, '[', 1) AS token,
            list_filter(
                CAST(string_split(regexp_extract(shape, '\[(.*)\]', 1), ',') AS BIGINT[]),
                LAMBDA size: size <> 1
            ) AS dims
        FROM (
            SELECT
                trace_id, instruction, unnest(shapes) AS shape,
                generate_subscripts(shapes, 1) AS place
            FROM (
                SELECT
                    trace_id, instruction,
                    regexp_extract_all(called, '\b[a-z]+[0-9a-z]*\[[0-9,]+\]') AS shapes
                FROM instructions
            )
            UNION ALL
            SELECT
                trace_id, instruction,
                unnest(regexp_extract_all(
                    left(instruction, len(instruction) - len(called)),
                    '\b[a-z]+[0-9a-z]*\[[0-9,]+\]'
                )), 0
            FROM instructions
        )
    )
    JOIN dtypes USING (token)
    WHERE dtypes.dtype NOT IN ('bool', 'e8m0') AND len(dims) > 1
),
factors AS (
    SELECT a.trace_id, a.instruction, min(a.computed_dtype) AS dtype
    FROM arrays AS a
    JOIN arrays AS b
        ON b.trace_id = a.trace_id AND b.instruction = a.instruction AND b.place > a.place
        AND b.computed_dtype = a.computed_dtype
    JOIN arrays AS r
        ON r.trace_id = a.trace_id AND r.instruction = a.instruction AND r.place = 0
    WHERE
        a.place > 0 AND a.computed_dtype IN ('int8', 'fp8')
        AND len(list_filter(
            list_intersect(a.dims, b.dims),
            LAMBDA k: a.elements * b.elements = r.elements * k * k
        )) > 0
    GROUP BY a.trace_id, a.instruction
),
types AS (
    SELECT
        trace_id, instruction,
        CASE
            WHEN count(DISTINCT computed_dtype) = 1 AND max(computed_dtype) IN ('int8', 'fp8')
                THEN max(computed_dtype)
            WHEN any_value(factors.dtype) IS NOT NULL THEN any_value(factors.dtype)
            WHEN bool_and(arrays.dtype = 'bf16' OR bytes <= 1) THEN 'bf16'
        END AS dtype
    FROM arrays
    LEFT JOIN factors USING (trace_id, instruction)
    WHERE place > 0
    GROUP BY trace_id, instruction
),
computed AS (
    SELECT
        types.trace_id, instruction,
        if(traces.hardware IS NULL OR peaks.dtype IS NOT NULL, types.dtype, 'bf16') AS dtype
    FROM types
    JOIN traces ON traces.trace_id = types.trace_id
    LEFT JOIN hardware_peaks AS peaks
        ON peaks.hardware = traces.hardware AND peaks.dtype = types.dtype
    WHERE types.dtype IS NOT NULL
)
SELECT
    given.trace_id, kernel_id, flop,
    CASE
        WHEN is_async IS NOT TRUE
            THEN coalesce(
                if(hlo_category = 'custom-call', nullif(accessed, 0), accessed),
                copied * CASE WHEN contains(name, 'DtoD') THEN 2 ELSE 1 END
            )
    END AS bytes,
    dtype
FROM given
LEFT JOIN hlo_categories USING (hlo_category)
LEFT JOIN computed
    ON computed.trace_id = given.trace_id AND computed.instruction = given.instruction
    AND hlo_categories.category = 'gemm'
WHERE flop IS NOT NULL OR accessed IS NOT NULL OR copied IS NOT NULL;
