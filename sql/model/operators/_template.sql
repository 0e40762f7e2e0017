-- One row per model (with its dimensions scaled), part of a layer and operator: what one row of its
-- work costs. The relation operators adds what depends on the work itself.
--
-- variant          UBIGINT  the model with its dimensions scaled
-- part             VARCHAR  kind of attention or of MLP, layer for what every one has, ends for
--                           what is outside them, mtp for what multi-token prediction adds
-- layers           BIGINT   layers that have it
-- model_layers     BIGINT   layers of the model
-- layer_ids        BIGINT[] layers that have it, from 0; NULL outside of layers
-- kinds            STRUCT[] kinds of these layers, with the number of each
-- last_kind        BOOLEAN  layers of multi-token prediction have it
-- attention_kind   VARCHAR  kind of attention of the layer
-- compress_ratio   BIGINT   tokens per compressed key
-- sliding_window   BIGINT   keys that the layer sees
-- index_top_k      BIGINT   keys that an indexer selects
-- num_experts      BIGINT   routed experts
-- top_k            BIGINT   experts per token
-- is_encoder       BOOLEAN  tokens see those after them too
-- heads_per_key    BIGINT   query heads that share a key
-- op_seq           INTEGER  place in the layer
-- op               VARCHAR  operator
-- module           VARCHAR  module that holds it
-- fused_op         VARCHAR  product that engines make of it and its neighbours
-- category         VARCHAR  category
-- form             VARCHAR  form of a latent attention that it belongs to; NULL: any
-- rows             VARCHAR  what its rows are
-- n                BIGINT   columns of the result
-- k                BIGINT   inner dimension
-- instances        BIGINT   products side by side
-- split            VARCHAR  how ranks share it
-- split_side       VARCHAR  the dimension they cut
-- row_flop         BIGINT   FLOP of a row in the matrix units
-- row_vector_flop  DOUBLE   FLOP of a row outside them
-- row_reads        BIGINT   elements that a row reads
-- row_writes       BIGINT   elements that a row writes
-- fused_writes     BIGINT   the same if kernels are fused
-- saves            DOUBLE   share of what it reads that training keeps
-- fused            BOOLEAN  both vanish if kernels are fused
-- weights          VARCHAR  class of weights
-- plain_share      DOUBLE   share of the layers whose weights are not quantised although others'
--                           are
-- weight_elements  BIGINT   weights; those of one expert for experts
-- kv_elements      BIGINT   elements of the KV cache for each of kv_rows
-- kv_rows          VARCHAR  looked_up, indexed, new or index_new
-- net              VARCHAR  collective
-- net_elements     BIGINT   elements that a row sends
CREATE VIEW _template AS
WITH kinds AS (
    SELECT
        model, layer_kind, attention_kind, mlp_kind, compress_ratio, sliding_window,
        count(*) AS layers, list(layer_id) AS layer_ids, max(layer_id) AS last_layer
    FROM model_layers
    GROUP BY ALL
),
placed AS (
    SELECT
        model, attention_kind, mlp_kind, compress_ratio, sliding_window, layers, layer_ids,
        {
            'layer_kind': layer_kind,
            'layers': layers,
            -- Layers of multi-token prediction are like the last one.
            'last_kind': last_layer = max(last_layer) OVER (PARTITION BY model)
        } AS kind
    FROM kinds
),
-- Kinds of layers share parts: the attention of one kind costs the same with any MLP.
parts AS (
    SELECT
        model, attention_kind AS part, attention_kind, compress_ratio, sliding_window,
        CAST(sum(layers) AS BIGINT) AS layers, flatten(list(layer_ids)) AS layer_ids,
        list(kind) AS kinds
    FROM placed
    GROUP BY ALL
    UNION ALL
    SELECT
        model, mlp_kind, NULL, 0, NULL, CAST(sum(layers) AS BIGINT), flatten(list(layer_ids)),
        list(kind)
    FROM placed
    GROUP BY ALL
    UNION ALL
    SELECT
        model, 'layer', NULL, 0, NULL, CAST(sum(layers) AS BIGINT), flatten(list(layer_ids)),
        list(kind)
    FROM placed
    GROUP BY ALL
    UNION ALL
    SELECT
        model, part, NULL, 0, NULL, layers, NULL,
        [{'layer_kind': part, 'layers': layers, 'last_kind': part = 'mtp'}]
    FROM architectures
    CROSS JOIN (VALUES ('ends', 1), ('mtp', 0)) AS outside (part, layers)
    WHERE fault IS NULL
),
rules AS (
    SELECT
        s.variant, p.*, a.num_layers AS model_layers, s.num_experts, s.top_k, s.num_kv_heads,
        a.index_top_k, a.is_encoder, r.op_seq, r.op,
        r.module, r.fused_op, r.category, r.form, r.rows, r.split, r.split_side, r.weights,
        r.fused, r.saves, r.kv_rows, r.net, r.vector_flop, sizes,
        sizes[r.n] AS n, sizes[r.k] AS k, sizes[r.instances] AS instances,
        coalesce(sizes[r.n], 1) * coalesce(sizes[r.k], 1) * coalesce(sizes[r.instances], 1)
            AS volume,
        r.reads, r.writes, r.fused_writes, r.kv, r.vector,
        coalesce(len(list_intersect(p.layer_ids, plain.layer_ids)) / p.layers, 0) AS plain_share
    FROM parts AS p
    JOIN operator_rules AS r ON r.part = p.part
    JOIN model_sizes AS s ON s.model = p.model
    JOIN architectures AS a ON a.model = p.model
    LEFT JOIN _unquantized_layers AS plain
        ON plain.model = p.model AND plain.module = r.module AND r.weights IN ('linear', 'expert')
    WHERE
        (r.needs IS NULL OR coalesce(sizes[r.needs], 0) > 0)
        AND (r.lacks IS NULL OR coalesce(sizes[r.lacks], 0) = 0)
)
SELECT
    variant, part, layers, model_layers, layer_ids, kinds,
    list_contains(list_transform(kinds, lambda kind: kind.last_kind), TRUE) AS last_kind,
    attention_kind, compress_ratio, sliding_window,
    index_top_k, num_experts, top_k, is_encoder,
    CASE
        WHEN attention_kind IN ('gqa', 'window') THEN sizes['heads'] // num_kv_heads
        -- In expanded form each head has keys of its own; a latent is one key for all heads.
        WHEN form = 'expanded' THEN 1
        ELSE sizes['heads']
    END AS heads_per_key,
    op_seq, op, module, fused_op, category, form,
    rows, n, k, instances, split, split_side,
    CASE
        WHEN category IN ('norm', 'elementwise', 'embedding', 'network') THEN 0
        ELSE 2 * volume
    END AS row_flop,
    coalesce(vector_flop * sizes[vector], 0) AS row_vector_flop,
    CASE
        WHEN reads = 'none' THEN 0
        WHEN reads IS NOT NULL THEN sizes[reads]
        ELSE coalesce(k, 0) * coalesce(instances, 1)
    END AS row_reads,
    CASE
        WHEN writes = 'none' THEN 0
        WHEN writes IS NOT NULL THEN sizes[writes]
        WHEN weights IS NULL THEN 0
        ELSE coalesce(n, 0) * coalesce(instances, 1)
    END AS row_writes,
    CASE WHEN fused_writes IS NULL THEN row_writes ELSE sizes[fused_writes] END AS fused_writes,
    coalesce(saves, 0) AS saves, coalesce(fused, FALSE) AS fused, weights,
    plain_share, CASE WHEN weights IS NULL THEN 0 ELSE volume END AS weight_elements,
    coalesce(sizes[kv], 0) AS kv_elements, kv_rows, net,
    CASE WHEN net IS NULL THEN 0 ELSE n END AS net_elements
FROM rules;
