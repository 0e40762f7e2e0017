-- One row per trace and distinct call of a convolution whose shapes and arguments tell its work.
--
-- As a matrix product: a row per place of the result, a column per output channel, and the channels
-- of a group times the kernel's window as inner dimension. A transposed convolution has a row per
-- place of its input. Backward, each gradient of input and weight that is asked for is as much.
-- (As torch.utils.flop_counter counts.)
--
-- trace_id  VARCHAR  trace
-- work_id   UBIGINT  the call
-- m         BIGINT   rows
-- n         BIGINT   columns
-- k         BIGINT   inner dimension
-- flop      BIGINT   FLOP
-- bytes     DOUBLE   bytes of input, weight and result, each once
CREATE VIEW _op_convolutions AS
WITH argued AS (
    SELECT
        o.trace_id, o.work_id, o.a, o.b, o.o, o.a_bytes, o.b_bytes,
        TRY_CAST(_slot_text(o.arguments, r.stride_slot) AS BIGINT[]) AS stride,
        TRY_CAST(_slot_text(o.arguments, r.padding_slot) AS BIGINT[]) AS padding,
        TRY_CAST(_slot_text(o.arguments, r.dilation_slot) AS BIGINT[]) AS dilation,
        CASE
            WHEN r.transposed_slot IS NULL THEN FALSE
            ELSE TRY_CAST(_slot_text(o.arguments, r.transposed_slot) AS BOOLEAN)
        END AS is_transposed,
        CASE
            WHEN r.mask_slot IS NULL THEN 1
            ELSE list_sum(CAST(
                TRY_CAST(_slot_text(o.arguments, r.mask_slot) AS BOOLEAN[])[:2] AS INTEGER[]
            ))
        END AS gradients
    FROM _op_inputs AS o
    JOIN trace_op_rules AS r USING (priority)
    WHERE r.rule IN ('conv', 'conv_backward') AND len(o.a) >= 3 AND len(o.b) = len(o.a)
),
placed AS (
    SELECT
        *,
        CASE
            WHEN is_transposed THEN a[3:]
            WHEN o IS NOT NULL THEN o[3:]
            -- One number may stand for all dimensions.
            ELSE list_transform(
                range(1, len(a) - 1),
                LAMBDA d: (
                    a[d + 2] + 2 * padding[least(d, len(padding))]
                    - dilation[least(d, len(dilation))] * (b[d + 2] - 1) - 1
                ) // stride[least(d, len(stride))] + 1
            )
        END AS places
    FROM argued
    WHERE is_transposed IS NOT NULL
)
SELECT
    trace_id, work_id, a[1] * _dims_product(places) AS m,
    CASE WHEN is_transposed THEN b[2] ELSE b[1] END AS n,
    CASE WHEN is_transposed THEN b[1] ELSE b[2] END * _dims_product(b[3:]) AS k,
    CAST(2 * gradients * a[1] * _dims_product(places) * _dims_product(b) AS BIGINT) AS flop,
    gradients * (
        _dims_product(a) * a_bytes + _dims_product(b) * b_bytes
        + a[1] * _dims_product(places) * b[1] * a_bytes
    ) AS bytes
FROM placed
WHERE list_min(places) > 0;
