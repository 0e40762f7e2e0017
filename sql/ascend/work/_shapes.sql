-- The rows and columns of a block, for a matrix that is stored in blocks (FRACTAL_NZ: columns of
-- blocks, rows of blocks, rows and columns in a block); else NULL.
CREATE MACRO _block(dims, format) AS CASE
    WHEN contains(upper(format), 'FRACTAL_NZ') AND len(dims) >= 4 THEN dims[-2:]
END;

-- The logical dimensions of a tensor: rows and columns of a matrix that is stored in blocks, both
-- filled up to whole blocks.
CREATE MACRO _dense(dims, format) AS CASE
    WHEN _block(dims, format) IS NULL THEN dims
    ELSE list_concat(dims[1:len(dims) - 4], [try(dims[-3] * dims[-2]), try(dims[-4] * dims[-1])])
END;

-- One row per trace and distinct work of its Ascend kernels: type, shapes, element types, formats.
-- Shapes that are not numeric are NULL.
--
-- trace_id   VARCHAR     trace
-- shape_id   UBIGINT     name of the work
-- op_type    VARCHAR     folded type of operation
-- inputs     BIGINT[][]  dimensions per input slot, blocked storage undone
-- outputs    BIGINT[][]  dimensions per output slot, likewise
-- in_blocks  BIGINT[][]  rows and columns of a block per input slot, NULL if not stored in blocks
-- in_tokens  VARCHAR[]   type of elements per input slot, in lower case without a prefix
-- in_sizes   DOUBLE[]    bytes per input slot, NULL if its type is unknown
-- in_bytes   DOUBLE      bytes of all inputs, NULL if a type is unknown
-- out_bytes  DOUBLE      bytes of all outputs, likewise
-- unknown    VARCHAR     types of elements that the table dtypes lacks
-- dtype      VARCHAR     type of the first input's elements
CREATE VIEW _shapes AS
WITH identified AS (
    SELECT
        trace_id,
        _shape_id(
            op_type_folded, input_dims, input_types, input_formats, output_dims, output_types,
            output_formats
        ) AS shape_id,
        op_type_folded, input_dims, input_types, input_formats, output_dims, output_types,
        output_formats
    FROM ascend_kernels
    WHERE input_dims IS NOT NULL OR output_dims IS NOT NULL
),
works AS (
    SELECT
        trace_id, shape_id, any_value(op_type_folded) AS op_type,
        TRY_CAST(TRY_CAST(any_value(input_dims) AS JSON) AS BIGINT[][]) AS in_dims,
        TRY_CAST(TRY_CAST(any_value(output_dims) AS JSON) AS BIGINT[][]) AS out_dims,
        _tokens(any_value(input_types)) AS in_types,
        _tokens(any_value(output_types)) AS out_types,
        _tokens(any_value(input_formats)) AS in_formats,
        _tokens(any_value(output_formats)) AS out_formats
    FROM identified
    GROUP BY trace_id, shape_id
),
slots AS (
    SELECT
        trace_id, shape_id, TRUE AS is_input, unnest(range(len(in_dims))) AS slot,
        unnest(in_dims) AS dims,
        unnest(list_resize(coalesce(in_types, []), len(in_dims))) AS token
    FROM works
    UNION ALL
    SELECT
        trace_id, shape_id, FALSE, unnest(range(len(out_dims))), unnest(out_dims),
        unnest(list_resize(coalesce(out_types, []), len(out_dims)))
    FROM works
),
sizes AS (
    SELECT
        trace_id, shape_id, is_input, slot, slots.token,
        CASE
            WHEN dims IS NULL THEN 0
            ELSE _elements(dims) * dtypes.bytes
        END AS bytes
    FROM slots
    LEFT JOIN dtypes ON dtypes.token = regexp_replace(lower(slots.token), '^dt_', '')
),
sums AS (
    SELECT
        trace_id, shape_id,
        list(bytes ORDER BY slot) FILTER (is_input) AS in_sizes,
        sum(bytes) FILTER (is_input) AS in_bytes,
        sum(bytes) FILTER (NOT is_input) AS out_bytes,
        coalesce(bool_or(bytes IS NULL AND is_input), FALSE) AS in_unknown,
        coalesce(bool_or(bytes IS NULL AND NOT is_input), FALSE) AS out_unknown,
        string_agg(DISTINCT coalesce(token, 'none'), ', ') FILTER (bytes IS NULL) AS unknown
    FROM sizes
    GROUP BY trace_id, shape_id
)
SELECT
    works.trace_id, works.shape_id, op_type,
    list_transform(in_dims, lambda dims, nth: _dense(dims, in_formats[nth])) AS inputs,
    list_transform(out_dims, lambda dims, nth: _dense(dims, out_formats[nth])) AS outputs,
    list_transform(in_dims, lambda dims, nth: _block(dims, in_formats[nth])) AS in_blocks,
    list_transform(in_types, lambda token: regexp_replace(lower(token), '^dt_', '')) AS in_tokens,
    in_sizes,
    CASE WHEN NOT in_unknown THEN coalesce(in_bytes, 0) END AS in_bytes,
    CASE WHEN NOT out_unknown THEN coalesce(out_bytes, 0) END AS out_bytes,
    unknown,
    dtypes.dtype
FROM works
JOIN sums USING (trace_id, shape_id)
LEFT JOIN dtypes ON dtypes.token = regexp_replace(lower(in_types[1]), '^dt_', '');
