-- The shape to which tensors of the given shapes, each a list, are broadcast: dimensions are
-- matched from the last, and one that is missing or 1 is repeated. Dimensions that do not fit are
-- NULL.
CREATE MACRO _broadcast_dims(shapes) AS
list_transform(
    range(coalesce(list_max(list_transform(shapes, LAMBDA shape: len(shape))), 0), 0, -1),
    LAMBDA place: list_reduce(
        list_transform(shapes, LAMBDA shape: coalesce(shape[-place], 1)),
        LAMBDA one, other: CASE
            WHEN one = other OR other = 1 THEN one
            WHEN one = 1 THEN other
        END
    )
);

-- The numbers in a list of slots separated by semicolons; empty for a word or NULL.
CREATE MACRO _slots(listed) AS
list_filter(
    list_transform(
        string_split(coalesce(listed, ''), ';'), LAMBDA slot: TRY_CAST(slot AS BIGINT)
    ),
    LAMBDA slot: slot IS NOT NULL
);

-- Slots written, from such a list, each with the slot whose elements they are: a:b is as many as in
-- a of those of b, a alone is itself.
CREATE MACRO _written_slots(listed) AS
map_from_entries(list_transform(
    list_filter(
        list_transform(
            string_split(coalesce(listed, ''), ';'), LAMBDA one: string_split(one, ':')
        ),
        LAMBDA pair: TRY_CAST(pair[1] AS BIGINT) IS NOT NULL
    ),
    LAMBDA pair: {'k': CAST(pair[1] AS BIGINT), 'v': CAST(pair[-1] AS BIGINT)}
));

-- The category of a mask of type_promotions: 0 bool, 1 integer, 2 with a fraction, 3 complex; -1
-- for no type.
CREATE MACRO _type_rank(mask) AS
CASE
    WHEN mask & 4096 > 0 THEN 3
    WHEN mask & 11776 > 0 THEN 2
    WHEN mask & 502 > 0 THEN 1
    WHEN mask > 0 THEN 0
    ELSE -1
END;

-- The mask, as in type_promotions, of two sets of operands: the first decides unless the others are
-- of a higher category; a fraction with a complex number gives a complex number of its own width.
CREATE MACRO _combined_type(first, others) AS
CASE
    WHEN _type_rank(first) >= _type_rank(others) THEN first
    WHEN _type_rank(first) = 2 THEN first | 4096
    ELSE others
END;

-- The type that PyTorch computes in for tensors, tensors without dimensions and plain numbers
-- (torch.result_type), each given as a mask of type_promotions with the bits of all such operands,
-- 0 for none: each kind decides unless a later one is of a higher category.
CREATE MACRO _promoted_type(tensors, zero_dims, numbers) AS
_combined_type(tensors, _combined_type(zero_dims, numbers));

-- One row per trace and distinct call of an operator that only moves and changes elements, with a
-- rule for its bytes.
--
-- A result has the shape to which the inputs are broadcast, and the type to which PyTorch promotes
-- theirs, unless an argument gives another one (half_to_float of a softmax); if tensors that are
-- not operands follow, the result is written to them. A Python number appears as a tensor without
-- dimensions, of int64 or fp64: fp64 is taken for a number, since such a tensor is rare. Shapes do
-- not show the kind of number of a Scalar: if it could decide the type, the bytes are unknown, as
-- they are if a type is unknown or shapes do not fit each other. Of an input that repeats elements
-- along a dimension (stride 0) each is read once; if calls of equal shapes differ in that, their
-- bytes are unknown.
--
-- trace_id  VARCHAR  trace
-- work_id   UBIGINT  the call
-- bytes     DOUBLE   bytes read and written
CREATE VIEW _op_bytes AS
WITH ruled AS (
    SELECT
        i.trace_id, i.work_id, i.input_dims, i.types, r.reads, r.writes, r.result,
        i.stated_type, i.stated_dim, i.repeats, i.repeats_differ,
        _slots(r.reads) AS read_slots, _written_slots(r.writes) AS write_slots,
        _slots(coalesce(r.typed_by, r.reads)) AS type_slots
    FROM _op_inputs AS i
    JOIN trace_op_rules AS r ON r.priority = i.priority AND r.family = 'memory'
),
inputs AS (
    SELECT
        trace_id, work_id, slot, types[slot + 1] AS token,
        _slot_dims(input_dims, slot) AS dims, repeats[slot + 1] AS repeats,
        coalesce(reads, '') = 'all' OR list_contains(read_slots, slot) AS is_read,
        map_contains(write_slots, slot) AS is_written,
        types[write_slots[slot] + 1] AS written_token,
        list_contains(read_slots, slot) AS is_operand,
        list_contains(type_slots, slot) AS is_typing,
        slot > list_max(read_slots) AS is_behind
    FROM (
        SELECT
            trace_id, work_id, input_dims, types, repeats, reads, read_slots, write_slots,
            type_slots,
            unnest(range(len(types))) AS slot
        FROM ruled
    )
),
masks AS (
    SELECT dtype, max(mask) AS mask FROM type_promotions GROUP BY dtype
),
tensors AS (
    SELECT
        t.trace_id, t.work_id, t.slot, t.dims, t.repeats, t.is_read, t.is_written, t.is_operand,
        t.is_typing, t.is_behind,
        t.token = 'scalar' AS is_scalar, d.bytes AS item_bytes, w.bytes AS written_item_bytes,
        len(t.dims) > 0 OR d.dtype IS NOT NULL AS is_tensor,
        CASE
            WHEN len(t.dims) > 0 THEN 'tensor'
            WHEN d.dtype IN ('fp64', 'complex128') THEN 'number'
            ELSE 'zero_dim'
        END AS rank,
        masks.mask
    FROM inputs AS t
    LEFT JOIN dtypes AS d ON d.token = t.token AND d.bytes > 0
    LEFT JOIN dtypes AS w ON w.token = t.written_token AND w.bytes > 0
    LEFT JOIN masks
        ON masks.dtype = CASE
            -- Numbers have the default type.
            WHEN len(t.dims) = 0 AND d.dtype = 'fp64' THEN 'fp32'
            WHEN len(t.dims) = 0 AND d.dtype = 'complex128' THEN 'complex64'
            ELSE d.dtype
        END
),
sized AS (
    SELECT
        trace_id, work_id, slot, _dims_product(dims) AS items,
        _stored_items(dims, repeats) * item_bytes AS bytes, dims, item_bytes,
        repeats IS NOT NULL AS is_laid
    FROM tensors
    WHERE len(dims) > 0 AND item_bytes IS NOT NULL
),
gathered AS (
    SELECT
        trace_id, work_id,
        coalesce(
            sum(_stored_items(dims, repeats) * item_bytes) FILTER (is_read AND len(dims) > 0), 0
        )
        + coalesce(sum(_dims_product(dims) * written_item_bytes) FILTER (is_written), 0)
            AS named_bytes,
        bool_or(
            len(dims) > 0
            AND ((is_read AND item_bytes IS NULL) OR (is_written AND written_item_bytes IS NULL))
        ) AS is_unsized,
        count(*) FILTER (is_behind AND len(dims) > 0) AS outs,
        sum(item_bytes) FILTER (is_behind AND len(dims) > 0) AS out_item_bytes,
        _broadcast_dims(list(dims) FILTER (is_operand AND is_tensor)) AS result_dims,
        bool_or(is_operand AND is_tensor) AS has_operands,
        bool_or(is_typing AND is_tensor AND mask IS NULL) AS is_untyped,
        bool_or(is_typing AND is_scalar) AS has_scalars,
        _promoted_type(
            coalesce(bit_or(mask) FILTER (is_typing AND rank = 'tensor'), 0),
            coalesce(bit_or(mask) FILTER (is_typing AND rank = 'zero_dim'), 0),
            coalesce(bit_or(mask) FILTER (is_typing AND rank = 'number'), 0)
        ) AS mask
    FROM tensors
    GROUP BY trace_id, work_id
),
typed AS (
    SELECT
        r.trace_id, r.work_id, g.result_dims, g.has_operands, g.outs, g.out_item_bytes, r.result,
        CASE
            WHEN r.stated_type = 'True' THEN 'fp32'
            WHEN r.stated_type NOT IN ('', 'False') THEN stated.dtype
            WHEN r.result IN ('bool', 'int64') THEN r.result
            WHEN g.is_untyped OR (g.has_scalars AND _type_rank(g.mask) < 2) THEN NULL
            WHEN _type_rank(g.mask) < 2 AND r.result = 'sum' THEN 'int64'
            WHEN
                _type_rank(g.mask) < 2
                AND (r.result = 'float' OR (r.result = 'quotient' AND len(r.types) <= 2))
                THEN 'fp32'
            ELSE promoted.dtype
        END AS dtype
    FROM ruled AS r
    JOIN gathered AS g USING (trace_id, work_id)
    LEFT JOIN type_promotions AS promoted
        ON promoted.mask = CASE WHEN r.result = 'real' THEN g.mask & 4095 ELSE g.mask END
    LEFT JOIN type_promotions AS stated ON stated.scalar_type = TRY_CAST(r.stated_type AS INTEGER)
    WHERE r.writes = 'result'
),
results AS (
    SELECT
        t.trace_id, t.work_id,
        CASE
            -- Shapes that do not fit, or more tensors than the operator takes, belong to another
            -- call.
            WHEN t.has_operands AND t.outs <= CASE t.result WHEN 'indexed' THEN 2 ELSE 1 END
                AND len(list_filter(t.result_dims, LAMBDA d: d IS NULL)) = 0
                THEN _dims_product(t.result_dims)
        END
        * CASE
            WHEN t.outs > 0 THEN t.out_item_bytes
            ELSE
                (SELECT max(d.bytes) FROM dtypes AS d WHERE d.dtype = t.dtype)
                + CASE WHEN t.result = 'indexed' THEN 8 ELSE 0 END
        END AS bytes
    FROM typed AS t
),
places AS (
    -- The tensor of indices into the rows or elements of the first one: the one after it.
    SELECT
        trace_id, work_id, arg_min(items, slot) AS items, arg_min(bytes, slot) AS bytes,
        arg_min(dims, slot) AS dims, arg_min(is_laid, slot) AS is_laid
    FROM sized
    WHERE slot > 0
    GROUP BY trace_id, work_id
),
taken AS (
    SELECT
        r.trace_id, r.work_id, t.bytes AS table_bytes,
        t.item_bytes * i.items
        * CASE r.reads
            WHEN 'rows' THEN t.items / nullif(t.dims[1], 0)
            -- If the dimension is not known, the minimum is taken.
            WHEN 'chosen' THEN t.items / nullif(
                coalesce(
                    t.dims[CASE WHEN r.stated_dim < 0 THEN r.stated_dim ELSE r.stated_dim + 1 END],
                    list_max(t.dims)
                ), 0
            )
            WHEN 'elements' THEN 1
        END AS bytes,
        -- A tensor of several dimensions may be a column repeated across the width of a row.
        i.bytes / CASE
            WHEN r.reads = 'elements' AND len(i.dims) > 1 AND NOT i.is_laid THEN i.dims[-1]
            ELSE 1
        END AS place_bytes
    FROM ruled AS r
    JOIN sized AS t ON t.trace_id = r.trace_id AND t.work_id = r.work_id AND t.slot = 0
    JOIN places AS i ON i.trace_id = r.trace_id AND i.work_id = r.work_id
    WHERE r.reads IN ('rows', 'chosen', 'elements')
)
SELECT
    r.trace_id, r.work_id,
    CASE
        -- No more of a table is read than its size.
        WHEN r.reads IN ('rows', 'chosen', 'elements')
            THEN least(taken.bytes, table_bytes) + taken.bytes + place_bytes
        WHEN g.is_unsized OR r.repeats_differ THEN NULL
        WHEN r.writes = 'result' THEN g.named_bytes + results.bytes
        ELSE g.named_bytes
    END AS bytes
FROM ruled AS r
LEFT JOIN gathered AS g USING (trace_id, work_id)
LEFT JOIN results USING (trace_id, work_id)
LEFT JOIN taken USING (trace_id, work_id);
