-- One row per trace and distinct call of a framework operator with a rule in trace_op_rules, by the
-- shapes and types of its inputs: what it has to compute and move.
--
-- Materialised per trace.
--
-- trace_id     VARCHAR  trace
-- work_id      UBIGINT  the call: equal for equal operators, shapes, types and arguments
-- priority     INTEGER  the rule
-- rule         VARCHAR  kind of rule
-- family       VARCHAR  product, conv, sdpa, attention, moe or memory
-- batch        BIGINT   products
-- m            BIGINT   rows of a product's result, or queries
-- n            BIGINT   columns of it
-- k            BIGINT   inner dimension
-- flop         BIGINT   FLOP, NULL where the shapes do not tell
-- flop_full    BIGINT   FLOP without any mask
-- first_flop   BIGINT   part of the first of two products
-- pair_flop    DOUBLE   FLOP per pair of the pass
-- decode_flop  DOUBLE   the same in a decode
-- bytes        DOUBLE   bytes moved; for attention over the pass's pairs, those of queries and
--                       results
-- token_bytes  DOUBLE   bytes of the key and value of one token, of such an attention
-- is_windowed  BOOLEAN  an attention that sees a window of keys
-- sequences    BIGINT   sequences of an attention
-- queries      BIGINT   queries of an attention
-- keys         BIGINT   keys of an attention
-- pairs        BIGINT   pairs of an attention
-- dtype        VARCHAR  arithmetic type by the types of the inputs
-- is_typed     BOOLEAN  both operands are among the inputs, so that their types decide
-- weight       BIGINT[] shape of the second matrix
-- a_type       VARCHAR  type of the first operand
-- has_work     BOOLEAN  the shapes tell FLOP, alone or with the pairs of the pass
CREATE VIEW operator_works AS
SELECT
    i.trace_id, i.work_id, i.priority, r.rule, r.family, coalesce(p.batch, 1) AS batch,
    coalesce(p.m, c.m, a.queries) AS m, coalesce(p.n, c.n) AS n, coalesce(p.k, c.k) AS k,
    coalesce(p.flop, c.flop, a.flop) AS flop,
    coalesce(p.flop, c.flop, a.flop_full) AS flop_full,
    p.first_flop, a.pair_flop, a.decode_flop,
    coalesce(p.bytes, c.bytes, a.bytes, b.bytes) AS bytes, a.token_bytes,
    coalesce(a.is_windowed, FALSE) AS is_windowed, a.sequences, a.queries, a.keys, a.pairs,
    CASE
        WHEN r.family = 'memory' THEN NULL
        -- Bytes hold pairs of four-bit values.
        WHEN r.elements_per_item = 2 THEN 'fp4'
        WHEN r.rule = 'fused_moe' AND i.b_bytes <= i.a_bytes
            AND i.b_type IN ('fp8', 'fp16', 'bf16', 'fp32')
            THEN i.b_type
        -- Of two types of numbers the wider is computed in; packed integers are widened.
        WHEN i.b_bytes > i.a_bytes AND r.types_decide THEN i.b_type
        ELSE i.a_type
    END AS dtype,
    coalesce(r.types_decide, FALSE) AS is_typed,
    CASE WHEN r.family IN ('product', 'conv', 'moe') THEN i.b END AS weight, i.a_type,
    r.rule = 'opaque_moe' OR coalesce(p.flop, c.flop, a.flop, a.pair_flop) IS NOT NULL AS has_work
FROM _op_inputs AS i
JOIN trace_op_rules AS r ON r.priority = i.priority
LEFT JOIN _op_products AS p USING (trace_id, work_id)
LEFT JOIN _op_convolutions AS c USING (trace_id, work_id)
LEFT JOIN _op_attentions AS a USING (trace_id, work_id)
LEFT JOIN _op_bytes AS b USING (trace_id, work_id)
WHERE i.input_dims IS NOT NULL;
