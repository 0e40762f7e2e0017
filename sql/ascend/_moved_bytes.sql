-- One row per trace and distinct work of its Ascend kernels: the bytes that it has to move, each
-- once. A table of which rows are gathered counts with these rows, and never with more than it has;
-- a paged cache with the keys of the requests, not with the rest of their last blocks; weights of
-- experts whole, where rows are so many that each expert has some. Where a value tells the part,
-- and no shape, nothing is made up.
--
-- trace_id     VARCHAR  trace
-- shape_id     UBIGINT  name of the work
-- moved_bytes  DOUBLE   bytes, NULL where unknown
-- moved_bound  DOUBLE   most bytes: every block of the table full, every row at another expert;
--                       NULL where moved_bytes is known, or nothing bounds them
-- moved_note   VARCHAR  why moved_bytes is NULL: unknown_dtype, lengths_unknown, experts_unknown
--                       or part_unknown
CREATE VIEW _moved_bytes AS
WITH parts AS (
    SELECT
        s.trace_id, s.shape_id, r.moves, s.in_bytes, s.out_bytes,
        _slots_sum(s.in_sizes, r.part_slots) AS part_bytes,
        _slots_sum(s.in_sizes, r.payload_slots) AS payload_bytes,
        s.inputs[r.a_slot + 1] AS a, s.inputs[r.b_slot + 1] AS b,
        s.inputs[r.table_slot + 1] AS block_table,
        -- A mask may be a pattern that is looked at in part: it is left out.
        CASE WHEN r.moves = 'keys' THEN coalesce(s.in_sizes[5], 0) ELSE 0 END AS mask_bytes,
        w.requests, w.key_length, w.key_bound
    FROM _shapes AS s
    LEFT JOIN _type_rules AS r ON r.trace_id = s.trace_id AND r.op_type = s.op_type
    LEFT JOIN _attention_work AS w ON w.trace_id = s.trace_id AND w.shape_id = s.shape_id
),
measured AS (
    SELECT
        *, in_bytes - part_bytes - mask_bytes AS whole_bytes,
        -- Keys of their own have the queries' layout, and no more of anything.
        block_table IS NULL AND len(a) = len(b) AND a[1] = b[1]
        AND len(list_filter(b, lambda items, nth: items > a[nth])) = 0 AS has_own_keys,
        -- A pool has blocks first and the tokens of one last but one: [blocks, tokens, width],
        -- [blocks, heads, tokens, width], or [blocks, heads, slices, tokens, width of a slice].
        CASE WHEN block_table IS NOT NULL THEN part_bytes / nullif(b[1] * b[-2], 0) END
            AS key_bytes,
        -- Weights are [experts, inner dimension, columns].
        CASE WHEN len(b) > 2 THEN b[1] ELSE 1 END AS experts,
        _elements(a) / nullif(a[-1], 0) AS routed_rows
    FROM parts
),
moved AS (
    SELECT
        trace_id, shape_id, moves, in_bytes + out_bytes AS listed_bytes,
        CASE
            WHEN moves IS NULL THEN in_bytes + out_bytes
            WHEN moves = 'gathered'
                THEN whole_bytes + least(part_bytes, out_bytes) + out_bytes
            WHEN moves = 'written'
                THEN whole_bytes + least(payload_bytes, greatest(part_bytes, out_bytes))
            WHEN moves = 'keys' AND has_own_keys THEN whole_bytes + part_bytes + out_bytes
            WHEN moves = 'keys' AND requests * key_length * key_bytes IS NOT NULL
                THEN whole_bytes + out_bytes
                + least(requests * least(key_length, key_bound) * key_bytes, part_bytes)
            WHEN moves = 'experts' AND routed_rows >= experts * rows_per_expert.value
                THEN in_bytes + out_bytes
        END AS moved_bytes,
        CASE
            WHEN moves = 'keys' AND requests * key_bound * key_bytes IS NOT NULL
                THEN whole_bytes + out_bytes + least(requests * key_bound * key_bytes, part_bytes)
            WHEN moves = 'experts'
                THEN whole_bytes + out_bytes + part_bytes * least(routed_rows / experts, 1)
        END AS bound
    FROM measured
    JOIN ascend_constants AS rows_per_expert ON rows_per_expert.constant = 'rows_per_expert'
)
SELECT
    trace_id, shape_id, moved_bytes, CASE WHEN moved_bytes IS NULL THEN bound END AS moved_bound,
    CASE
        WHEN moved_bytes IS NOT NULL THEN NULL
        WHEN listed_bytes IS NULL THEN 'unknown_dtype'
        WHEN moves = 'keys' THEN 'lengths_unknown'
        WHEN moves = 'experts' THEN 'experts_unknown'
        ELSE 'part_unknown'
    END AS moved_note
FROM moved;
