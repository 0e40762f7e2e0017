-- One row per device operation whose own event has its work: XLA operations have FLOP and bytes,
-- copies and fills the bytes that they copy or fill. An XLA operation that begins or ends a
-- transfer beside the operations (copy-start, copy-done) has no bytes: XLA gives them to both, and
-- the transfer takes another time than either. XLA writes 0 bytes for a custom call that states no
-- cost: they are unknown. Its bytes include those of memory on the chip (VMEM of a TPU).
--
-- A product has the type of its operands: 8 bits if all operands with two dimensions have them and
-- the chip multiplies them as such, else XLA widens them to BF16.
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
operands AS (
    SELECT
        trace_id, instruction,
        unnest(regexp_extract_all(
            regexp_replace(instruction, '^.*? [a-z][\w-]*\(', ''), '\b[a-z]+[0-9a-z]*\[[0-9,]+\]'
        )) AS operand
    FROM (
        SELECT DISTINCT trace_id, instruction
        FROM given
        JOIN hlo_categories USING (hlo_category)
        WHERE hlo_categories.category = 'gemm' AND instruction IS NOT NULL
    )
),
types AS (
    SELECT
        trace_id, instruction,
        CASE
            WHEN bool_and(dtype IN ('int8', 'uint8', 'int4', 'uint4')) THEN 'int8'
            WHEN bool_and(dtype = 'fp8') THEN 'fp8'
            WHEN bool_and(dtype = 'bf16' OR bytes <= 1) THEN 'bf16'
        END AS dtype
    FROM operands
    JOIN dtypes ON dtypes.token = split_part(operand, '[', 1) AND dtypes.dtype <> 'bool'
    WHERE len(list_filter(
        string_split(regexp_extract(operand, '\[(.*)\]', 1), ','), LAMBDA size: size <> '1'
    )) > 1
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
