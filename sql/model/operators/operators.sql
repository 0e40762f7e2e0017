-- A shape with the given number of rows as text: with batched products and their width, or with the
-- elements of a row.
CREATE MACRO _shape_text(row_count, instances, width, elements) AS
    '[' || concat_ws(
        ', ', row_count, CASE WHEN width IS NOT NULL THEN instances END,
        coalesce(width, nullif(elements, 0))
    ) || ']';

-- One row per scenario, kind of layer and operator: what it should cost, on one rank, in one layer.
-- A matrix product of M x K by K x N costs 2MNK FLOP; attention 2 x pairs of query and key x heads
-- x widths of keys and of values, pairs counted exactly: a query sees the keys up to its own.
-- Work outside the matrix units is counted separately and never in FLOP.
--
-- key: scenario, layer_kind, op_seq
--
-- scenario          VARCHAR  scenario
-- model             VARCHAR  model
-- phase             VARCHAR  prefill, decode or training
-- layer_kind        VARCHAR  kind of layer; ends for the part outside layers, mtp for multi-token
--                            prediction
-- layers            BIGINT   layers of that kind
-- op_seq            INTEGER  place in the layer
-- op                VARCHAR  operator
-- module            VARCHAR  module that holds it
-- fused_op          VARCHAR  product that engines make of it and its neighbours; NULL: none
-- category          VARCHAR  attention, attention_core, mlp, moe, router, norm, head, embedding,
--                            mhc, elementwise or network
-- m                 BIGINT   rows of the product: tokens, assignments to experts, or logits
-- n                 BIGINT   columns of its result; of an embedding, rows of the table
-- k                 BIGINT   inner dimension; of an embedding, columns of the table
-- instances         BIGINT   products side by side; NULL: one
-- n_rank            BIGINT   columns that one rank holds
-- k_rank            BIGINT   inner dimension that one rank holds
-- pairs             BIGINT   pairs of query and key; NULL if it is not an attention
-- input_shape       VARCHAR  shape of its input; for an embedding the tokens' ids
-- output_shape      VARCHAR  shape of its result
-- flop              BIGINT   FLOP of a replica
-- flop_rank         DOUBLE   FLOP of one rank
-- vector_flop       BIGINT   FLOP of a replica outside the matrix units
-- vector_flop_rank  DOUBLE   the same of one rank
-- weight_bytes      DOUBLE   weights that a rank reads, each once
-- activation_bytes  DOUBLE   activations that a rank reads and writes
-- alone_bytes       DOUBLE   the same as a kernel of its own, if fusion hides it
-- kv_bytes          DOUBLE   KV cache that a rank reads and writes
-- temporary_bytes   DOUBLE   scores that a rank writes and reads where they leave the chip
-- net_bytes         DOUBLE   bytes that a rank sends
-- split_rule        VARCHAR  how ranks share it: tp, kv_heads, replicated, experts or head_tp
-- split_factor      DOUBLE   FLOP of a replica over those of a rank
-- dtype             VARCHAR  type it computes in
-- peak_tflops       DOUBLE   dense peak in that type, TFLOP/s
-- flop_us           DOUBLE   minimum time of the matrix units, µs
-- vector_us         DOUBLE   minimum time of the vector units, µs
-- hbm_us            DOUBLE   minimum time of the memory, µs
-- net_us            DOUBLE   minimum time of the network, µs; NULL if its bandwidth is unknown
-- roof_us           DOUBLE   the longest of these, µs: no kernel is faster; NULL if one is unknown
-- intensity         DOUBLE   FLOP per byte of memory
-- bound             VARCHAR  compute, memory or network: which of them is the longest
CREATE VIEW operators AS
SELECT
    scenario, model, phase, kind.layer_kind,
    kind.layers + CASE WHEN kind.last_kind THEN mtp_layers ELSE 0 END AS layers,
    op_seq, op, module, fused_op, category,
    CASE WHEN category = 'attention_core' THEN tokens ELSE row_count END AS m,
    n, k, instances, n_rank, k_rank,
    CASE WHEN rows IN ('pairs', 'index_pairs') THEN row_count END AS pairs,
    _shape_text(
        m, instances, CASE WHEN category <> 'embedding' THEN k END,
        CASE WHEN category <> 'embedding' THEN row_reads END
    ) AS input_shape,
    _shape_text(m, instances, CASE WHEN category = 'embedding' THEN k ELSE n END, row_writes)
        AS output_shape,
    flop, flop_rank, vector_flop, vector_flop_rank, weight_bytes, activation_bytes,
    CASE WHEN hidden THEN alone_bytes END AS alone_bytes, kv_bytes,
    temporary_bytes, net_bytes, split AS split_rule, split_factor, dtype, peak_tflops,
    flop_us, vector_us, hbm_us, net_us,
    CASE
        WHEN hbm_us IS NOT NULL AND net_us IS NOT NULL AND (flop_rank = 0 OR flop_us IS NOT NULL)
            THEN greatest(flop_us, vector_us, hbm_us, net_us)
    END AS roof_us,
    flop_rank / nullif(weight_bytes + activation_bytes + kv_bytes + temporary_bytes, 0)
        AS intensity,
    CASE
        WHEN roof_us IS NULL THEN NULL
        WHEN net_us > greatest(flop_us, vector_us, hbm_us) THEN 'network'
        WHEN greatest(flop_us, vector_us) >= hbm_us THEN 'compute'
        ELSE 'memory'
    END AS bound
FROM _operator_rows
CROSS JOIN unnest(kinds) AS layers_of (kind);
