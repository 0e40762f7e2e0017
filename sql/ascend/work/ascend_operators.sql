-- The sum of a list's values at some slots, given as numbers from 0 separated by semicolons; 0 if
-- none of them exists.
CREATE MACRO _slots_sum(sizes, slots) AS coalesce(
    list_sum(
        list_transform(string_split(slots, ';'), lambda slot: sizes[TRY_CAST(slot AS BIGINT) + 1])
    ),
    0
);

-- One row per trace and distinct work of its Ascend kernels: the bytes that it must move, each
-- once. A table whose rows are gathered counts with these rows, never with more than it has; a
-- paged cache with the keys of the requests, not with the rest of their last blocks; weights of
-- experts in full, if there are so many rows that each expert has some. If a value, not a shape,
-- decides the part, nothing is assumed.
--
-- What a rank receives from the others for its experts (MoeDistributeDispatch) lies in a buffer for
-- the most that may come, and MoeDistributeCombine sends it back: how many rows are in use is a
-- value. Kernels between them that are given the rows of each expert touch only these; without
-- them, a kernel processes the whole buffer.
CREATE VIEW _moved_bytes AS
WITH exchanges AS (
    SELECT
        *,
        CASE
            -- A rank sends the second input's elements: tokens x experts of each.
            WHEN inputs[2] IS NULL THEN NULL
            WHEN contains(lower(op_type), 'moedistributedispatch')
                THEN greatest(outputs[1][1], _elements(inputs[2]))
            WHEN contains(lower(op_type), 'moedistributecombine')
                THEN greatest(inputs[1][1], _elements(inputs[2]))
        END AS exchanged_rows,
        exchanged_rows > _elements(inputs[2]) AS is_exchange,
        -- The fourth output is how many rows each expert of the rank has.
        CASE WHEN contains(lower(op_type), 'moedistributedispatch') THEN outputs[4][1] END
            AS local_experts
    FROM _shapes
),
buffers AS (
    SELECT
        *,
        list(exchanged_rows) FILTER (is_exchange) OVER (PARTITION BY trace_id) AS buffer_rows,
        list(local_experts) FILTER (local_experts IS NOT NULL) OVER (PARTITION BY trace_id)
            AS expert_counts
    FROM exchanges
),
parts AS (
    SELECT
        s.trace_id, s.shape_id, r.moves, s.in_bytes, s.out_bytes,
        coalesce(
            s.is_exchange
            OR list_contains(s.buffer_rows, s.inputs[1][1]) AND (
                r.rule = 'grouped_matmul'
                -- A vector of whole numbers may also be axes, at most one for each dimension.
                OR r.rule IS NULL AND r.moves IS NULL AND len(list_filter(
                    s.inputs,
                    lambda dims, nth: nth > 1 AND len(dims) = 1
                        AND s.in_tokens[nth] IN ('int32', 'int64')
                        AND CASE
                            WHEN s.expert_counts IS NULL
                                THEN dims[1] > len(s.inputs[1]) AND dims[1] < s.inputs[1][1]
                            ELSE list_contains(s.expert_counts, dims[1])
                        END
                )) > 0
            ),
            FALSE
        ) AS is_buffer,
        _slots_sum(s.in_sizes, r.part_slots) AS part_bytes,
        _slots_sum(s.in_sizes, r.payload_slots) AS payload_bytes,
        s.inputs[r.a_slot + 1] AS a, s.inputs[r.b_slot + 1] AS b,
        s.inputs[r.table_slot + 1] AS block_table,
        -- Absorbed MLA: one latent of a head's width is key and value, its rotary part is apart.
        CASE
            WHEN r.moves = 'keys' AND s.inputs[r.rope_slot + 1] IS NOT NULL
                AND s.inputs[r.b_slot + 1] = s.inputs[r.v_slot + 1]
                AND _elements(s.inputs[r.b_slot + 1]) = try(s.inputs[r.a_slot + 1][-1]
                    * s.inputs[r.b_slot + 1][1] * s.inputs[r.b_slot + 1][-2])
                THEN s.in_sizes[r.v_slot + 1]
            ELSE 0
        END AS twice_bytes,
        -- A mask may be a pattern that is read only in part: it is left out.
        CASE WHEN r.moves = 'keys' THEN coalesce(s.in_sizes[5], 0) ELSE 0 END AS mask_bytes,
        w.requests, w.key_length, w.key_bound
    FROM buffers AS s
    LEFT JOIN _type_rules AS r ON r.trace_id = s.trace_id AND r.op_type = s.op_type
    LEFT JOIN _attention_work AS w ON w.trace_id = s.trace_id AND w.shape_id = s.shape_id
),
once AS (
    SELECT
        * REPLACE (in_bytes - twice_bytes AS in_bytes, part_bytes - twice_bytes AS part_bytes)
    FROM parts
),
measured AS (
    SELECT
        *, in_bytes - part_bytes - mask_bytes AS whole_bytes,
        -- Separate keys have the queries' layout, and no larger dimension.
        block_table IS NULL AND len(a) = len(b) AND a[1] = b[1]
        AND len(list_filter(b, lambda items, nth: items > a[nth])) = 0 AS has_own_keys,
        -- Without a block table each request has a sequence of keys. A pool has the blocks first
        -- and the tokens of a block second to last: [blocks, tokens, width], [blocks, heads,
        -- tokens, width], or [blocks, heads, slices, tokens, width of a slice].
        part_bytes / nullif(
            try(CASE WHEN block_table IS NULL THEN requests * key_bound ELSE b[1] * b[-2] END), 0
        ) AS key_bytes,
        -- Weights are [experts, inner dimension, columns].
        CASE WHEN len(b) > 2 THEN b[1] ELSE 1 END AS experts,
        _elements(a) / nullif(a[-1], 0) AS routed_rows
    FROM once
),
moved AS (
    SELECT
        trace_id, shape_id, moves, is_buffer, in_bytes + out_bytes AS listed_bytes,
        CASE
            WHEN is_buffer THEN NULL
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
            WHEN is_buffer AND moves IS NULL THEN in_bytes + out_bytes
            WHEN moves = 'keys' AND requests * key_bound * key_bytes IS NOT NULL
                THEN whole_bytes + out_bytes + least(requests * key_bound * key_bytes, part_bytes)
            WHEN moves = 'experts' AND routed_rows IS NOT NULL
                THEN whole_bytes + out_bytes + part_bytes * least(routed_rows / experts, 1)
        END AS bound
    FROM measured
    JOIN ascend_constants AS rows_per_expert ON rows_per_expert.constant = 'rows_per_expert'
)
SELECT
    trace_id, shape_id, is_buffer, moved_bytes,
    CASE WHEN moved_bytes IS NULL THEN bound END AS moved_bound,
    CASE
        WHEN moved_bytes IS NOT NULL THEN NULL
        WHEN listed_bytes IS NULL THEN 'unknown_dtype'
        WHEN is_buffer THEN 'rows_unknown'
        WHEN moves = 'keys' THEN 'lengths_unknown'
        WHEN moves = 'experts' THEN 'experts_unknown'
        ELSE 'part_unknown'
    END AS moved_note
FROM moved;

-- One row per Ascend device row with shapes: its work by its own shapes, and by its counters.
--
-- A matrix product's inner dimension must fit both matrices and the result, in one of the four
-- transpositions, with blocked storage undone; if none does, the shapes are marked inconsistent and
-- flop is NULL. Kernels of the vector cores are bound by memory: their FLOP are NULL. Bytes are
-- those of all tensors, each once: an absent tensor has none, a scalar has one element. Moved bytes
-- are the part that the kernel must move: of a table whose rows are gathered, these rows; of a
-- paged cache, the keys of the requests. Rates are of moved bytes, and NULL if no shape gives them.
-- The setting kv_len=N of a trace sets how many keys a request sees in an attention with a cache,
-- paged or a sequence of its own, unless more than N of its tokens are new: of such prompts the
-- length stays unknown.
--
-- A product fused with a collective (MatmulAllReduce, MatmulReduceScatter, AllGatherMatmul,
-- AlltoAllMatmul, MatmulAlltoAll) has the FLOP of this rank's product: of all rows that it gathers,
-- or that are scattered afterwards. Its time includes the exchange, so tflops and gbps are lower
-- bounds for the product alone. A grouped product whose groups are tensors of their own has the
-- FLOP of all groups.
--
-- stored: per ascend trace
--
-- key: trace_id, kernel_id
--
-- trace_id            VARCHAR  trace
-- rank                INTEGER  rank in the job, NULL if unknown
-- device              INTEGER  device
-- stream              BIGINT   stream
-- kernel_id           BIGINT   the device row
-- op_type             VARCHAR  type of operation, folded
-- core                VARCHAR  kind of core
-- core_group          VARCHAR  cube, vector or another group of kinds
-- counted             BOOLEAN  it is in the relation kernels, not a duplicate row
-- dur_us              DOUBLE   duration, µs
-- shape_id            UBIGINT  equal for kernels of equal type, shapes, types and formats
-- rule                VARCHAR  how the FLOP are computed, NULL if they are not
-- dtype               VARCHAR  type of the first input's elements, as in the table dtypes; of the
--                              largest other's, the weights, if it runs all of the experts' half
-- m                   BIGINT   rows of a product's result, in all its batches, those gathered from
--                              other ranks or scattered to them included; NULL if unknown
-- n                   BIGINT   columns of it, before any gate; NULL also if groups differ
-- k                   BIGINT   inner dimension; NULL also if groups differ
-- flop                DOUBLE   FLOP by shapes
-- flop_bound          DOUBLE   most FLOP of an attention with a block table, or of a batch of
--                              sequences: all of the room for keys in use; of a grouped product
--                              of rows_unknown: the whole buffer in use
-- flop_note           VARCHAR  why flop is NULL: no_rule, no_shapes, shape_inconsistent,
--                              lengths_unknown (of requests), rows_unknown (of a buffer that
--                              MoeDistributeDispatch fills in part)
-- shape_inconsistent  BOOLEAN  no product or attention has such shapes
-- causal              BOOLEAN  an attention counted as half, since a mask hides later keys
-- in_bytes            DOUBLE   bytes of the inputs
-- out_bytes           DOUBLE   bytes of the outputs
-- bytes               DOUBLE   both; NULL if an element type is unknown
-- unknown_dtypes      VARCHAR  element types that the table dtypes lacks
-- bytes_caveat        VARCHAR  what the sum of bytes omits or overcounts
-- moved_bytes         DOUBLE   bytes that it must move, NULL if unknown
-- moved_bound         DOUBLE   most bytes it may move if moved_bytes is NULL: every block of the
--                              table full, every row at a different expert, every row of a
--                              buffer in use
-- moved_note          VARCHAR  why moved_bytes is NULL: unknown_dtype, lengths_unknown (of the
--                              requests), experts_unknown (which have rows), rows_unknown (as in
--                              flop_note; also of MoeDistributeDispatch, MoeDistributeCombine and
--                              what is given each expert's rows between them) or part_unknown
-- pmu_flop            DOUBLE   FLOP of the cubes by their counters
-- pmu_ratio           DOUBLE   that over flop; a little above 1 for padding
-- flop_mismatch       BOOLEAN  counters contradict shapes, by the bounds in ascend_constants
-- tflops              DOUBLE   flop over the duration, TFLOP/s
-- gbps                DOUBLE   moved_bytes over the duration, GB/s
-- intensity           DOUBLE   flop per moved byte
CREATE VIEW ascend_operators AS
WITH works AS (
    SELECT
        s.trace_id, s.shape_id, rule, coalesce(weights.dtype, s.dtype) AS dtype,
        CASE WHEN NOT is_buffer THEN m END AS m, n, k, causal, caveat, in_bytes, out_bytes, unknown,
        CASE WHEN NOT is_buffer THEN coalesce(matmul.flop, attention.flop) END AS flop,
        CASE WHEN is_buffer THEN matmul.flop ELSE attention.flop_bound END AS flop_bound,
        coalesce(matmul.fits, attention.fits) AS fits, moved_bytes, moved_bound, moved_note
    FROM _shapes AS s
    JOIN _moved_bytes AS moved ON moved.trace_id = s.trace_id AND moved.shape_id = s.shape_id
    LEFT JOIN _type_rules
        ON _type_rules.trace_id = s.trace_id AND _type_rules.op_type = s.op_type
    LEFT JOIN dtypes AS weights
        ON rule IS NULL AND moves = 'experts'
        -- Few experts are smaller than a prompt's tokens, the first input.
        AND weights.token = in_tokens[2:][list_position(in_sizes[2:], list_max(in_sizes[2:]))]
    LEFT JOIN _matmul_work AS matmul
        ON matmul.trace_id = s.trace_id AND matmul.shape_id = s.shape_id
    LEFT JOIN _attention_work AS attention
        ON attention.trace_id = s.trace_id AND attention.shape_id = s.shape_id
),
identified AS (
    SELECT
        trace_id, rank, device, stream, kernel_id, op_type_folded AS op_type, core, core_group,
        counted, dur_ns / 1000.0 AS dur_us,
        _shape_id(
            op_type_folded, input_dims, input_types, input_formats, output_dims, output_types,
            output_formats
        ) AS shape_id
    FROM ascend_kernels
    WHERE input_dims IS NOT NULL OR output_dims IS NOT NULL
)
SELECT
    w.trace_id, w.rank, w.device, stream, w.kernel_id, w.op_type, w.core, core_group, w.counted,
    w.dur_us, w.shape_id, rule, dtype, m, n, k, flop, flop_bound,
    CASE
        WHEN flop IS NOT NULL THEN NULL
        WHEN rule IS NULL THEN 'no_rule'
        WHEN fits IS NULL THEN 'no_shapes'
        WHEN NOT fits THEN 'shape_inconsistent'
        WHEN rule = 'grouped_matmul' THEN 'rows_unknown'
        ELSE 'lengths_unknown'
    END AS flop_note,
    fits IS NOT DISTINCT FROM FALSE AS shape_inconsistent,
    causal, in_bytes, out_bytes, in_bytes + out_bytes AS bytes, unknown AS unknown_dtypes,
    caveat AS bytes_caveat, moved_bytes, moved_bound, moved_note, pmu_flop,
    pmu_flop / nullif(flop, 0) AS pmu_ratio,
    pmu_flop / nullif(flop, 0) NOT BETWEEN low.value AND high.value AS flop_mismatch,
    flop / nullif(w.dur_us, 0) / 1e6 AS tflops,
    moved_bytes / nullif(w.dur_us, 0) / 1e3 AS gbps,
    flop / nullif(moved_bytes, 0) AS intensity
FROM identified AS w
JOIN works ON works.trace_id = w.trace_id AND works.shape_id = w.shape_id
LEFT JOIN kernel_pmu AS pmu ON pmu.trace_id = w.trace_id AND pmu.kernel_id = w.kernel_id
JOIN ascend_constants AS low ON low.constant = 'pmu_ratio_low'
JOIN ascend_constants AS high ON high.constant = 'pmu_ratio_high';
