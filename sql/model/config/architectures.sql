-- One row per property in a model's config.json that cannot be read: its value is not one that
-- config_fields allows, it names a number type or a quantisation method that no table has, or it
-- means layers, or parts of them, without operators here; or that is missing although others need
-- it: the number of experts. Such layers, unlike parts, are only sought where no list gives the
-- layers' types; such lists are checked by _dimension_faults.
CREATE VIEW _config_faults AS
WITH given AS (
    SELECT
        f.model, f.field, f.name, f.value, t.kind, t.least, t.most, t.words,
        json_type(f.value) AS form, f.value ->> '$' AS word,
        -- A number, or the numbers of a list.
        CASE
            WHEN json_type(f.value) = 'ARRAY' THEN TRY_CAST(f.value AS DOUBLE[])
            WHEN json_type(f.value) <> 'BOOLEAN' THEN [TRY_CAST(f.value ->> '$' AS DOUBLE)]
        END AS numbers
    FROM _config_fields AS f
    JOIN config_fields AS t ON t.field = f.field
),
judged AS (
    SELECT
        model, field, name, value, kind, least, most, words, form, word, numbers,
        coalesce(
            len(list_filter(numbers, lambda number: number BETWEEN least AND most)) = len(numbers),
            FALSE
        ) AS within,
        coalesce(
            len(list_filter(numbers, lambda number: number = floor(number))) = len(numbers), FALSE
        ) AS whole
    FROM given
),
listed AS (
    SELECT model FROM judged WHERE field = 'layer_types'
),
typed AS (
    SELECT
        model,
        coalesce(
            any_value(value ->> 'model_type') FILTER (field = 'language'),
            any_value(word) FILTER (field = 'model_type')
        ) AS model_type
    FROM judged
    GROUP BY model
),
wrong AS (
    SELECT model, field, name, value, kind, least, most
    FROM judged
    WHERE NOT CASE kind
        WHEN 'number' THEN within AND form <> 'ARRAY'
        WHEN 'whole number' THEN within AND whole AND form <> 'ARRAY'
        WHEN 'list of whole numbers' THEN within AND whole AND form = 'ARRAY'
        WHEN 'whole number or list of them' THEN within AND whole
        WHEN 'whole number or pattern as LLLG'
            THEN within AND whole AND form <> 'ARRAY' OR regexp_full_match(word, 'L*G')
        WHEN 'true or false' THEN TRY_CAST(value AS BOOLEAN) IS NOT NULL
        WHEN 'list of words' THEN TRY_CAST(value AS VARCHAR[]) IS NOT NULL
        WHEN 'object' THEN form = 'OBJECT'
        WHEN 'no such layers' THEN TRUE
        WHEN 'no such parts' THEN TRUE
        ELSE form = 'VARCHAR'
    END
)
SELECT
    model, field,
    concat(
        name, ' is ', left(CAST(value AS VARCHAR), 60), ': expected ', kind,
        CASE WHEN least IS NOT NULL THEN printf(', %.0f to %.0f', least, most) END
    ) AS fault
FROM wrong
UNION ALL
SELECT
    model, field,
    printf('%s is "%s": expected %s', name, left(word, 60), replace(words, ' ', ' or '))
FROM judged
WHERE kind = 'word' AND form = 'VARCHAR' AND NOT list_contains(string_split(words, ' '), word)
UNION ALL
SELECT
    model, field,
    printf(
        '%s is %s: %s have no operators here',
        name, left(CAST(value AS VARCHAR), 60), replace(field, '_', ' ')
    )
FROM judged
LEFT JOIN (SELECT model AS listed_model FROM listed) ON listed_model = model
WHERE
    (kind = 'no such layers' AND listed_model IS NULL OR kind = 'no such parts')
    AND NOT within AND TRY_CAST(value AS BOOLEAN) IS NOT FALSE
UNION ALL
SELECT
    c.model, 'model_type',
    printf('model_type %s: %s has no operators here', c.model_type, t.other_layers)
FROM typed AS c
JOIN model_types AS t ON t.model_type = c.model_type
ANTI JOIN listed ON listed.model = c.model
ANTI JOIN judged ON judged.model = c.model AND judged.kind = 'no such layers'
WHERE t.other_layers IS NOT NULL
UNION ALL
SELECT
    j.model, j.field,
    printf('%s is "%s": no such type of numbers is in the table dtypes', j.name, left(j.word, 60))
FROM judged AS j
LEFT JOIN _dtype_words AS d ON d.word = lower(j.word)
WHERE j.field IN ('dtype', 'expert_dtype') AND j.form = 'VARCHAR' AND d.word IS NULL
UNION ALL
-- Without this, a model whose number of experts has an unknown name would count as dense.
SELECT
    model, 'num_experts',
    printf(
        '%s and %s are given, and the number of experts under no name that is known',
        any_value(name) FILTER (field = 'top_k'),
        any_value(name) FILTER (field = 'moe_intermediate_size')
    )
FROM judged
WHERE field = 'num_experts' OR field IN ('top_k', 'moe_intermediate_size') AND list_max(numbers) > 0
GROUP BY model
HAVING count(*) = 2 AND NOT bool_or(field = 'num_experts')
UNION ALL
SELECT
    model, 'quantization',
    concat(
        name, ': quant_method "', left(method, 60), '"', ' of ' || bits || ' bits',
        ' is not in the table quantizations'
    )
FROM _config_quantizations
WHERE quantized IS NULL;

-- One row per model and dimension beyond the limits of config_fields, whatever its source, or kind
-- of layers that have no operators here.
CREATE VIEW _dimension_faults AS
WITH known AS (
    SELECT * FROM _known_models
),
dimensions AS (
    UNPIVOT (
        SELECT
            model, num_layers, hidden_size, num_heads, num_kv_heads, head_dim, rotary_dim,
            qk_nope_head_dim, qk_rope_head_dim, v_head_dim, q_lora_rank, kv_lora_rank, o_lora_rank,
            o_groups, intermediate_size, num_experts, top_k, expert_groups, top_groups,
            moe_intermediate_size, num_shared_experts, shared_intermediate_size,
            first_dense_layers, index_heads, index_head_dim, index_top_k, sliding_window,
            full_every, hash_layers, hc_mult, mtp_layers, vocab_size, max_positions
        FROM known
    )
    ON COLUMNS(* EXCLUDE (model))
    INTO NAME field VALUE number
)
SELECT
    d.model, d.field,
    printf('%s is %d: expected %s, %.0f to %.0f', d.field, d.number, f.kind, f.least, f.most)
        AS fault
FROM dimensions AS d
JOIN config_fields AS f ON f.field = d.field
WHERE d.number NOT BETWEEN f.least AND f.most
UNION ALL
SELECT
    k.model, 'layer_types',
    printf(
        '%s: %s has no operators here',
        coalesce(any_value(c.name), 'layer_types'), left(arg_min(k.word, k.layer_id), 60)
    )
FROM (
    SELECT
        model, unnest(layer_types) AS word, unnest(range(len(layer_types))) AS layer_id,
        -- Other dimensions decide how these are costed.
        CASE
            WHEN compress_ratios IS NOT NULL
                THEN ['compressed_sparse_attention', 'heavily_compressed_attention']
            WHEN kv_lora_rank > 0 AND index_top_k > 0 THEN ['deepseek_sparse_attention']
            ELSE []
        END AS further
    FROM known
) AS k
JOIN config_fields AS f ON f.field = 'layer_types'
LEFT JOIN _config_fields AS c ON c.model = k.model AND c.field = f.field
WHERE NOT list_contains(list_concat(string_split(f.words, ' '), k.further), k.word)
GROUP BY k.model
UNION ALL
-- All dimensions combined: roughly the parameters that a token uses.
SELECT
    model, 'the layers',
    printf('%.3g parameters in all layers: expected 1e+15 at most', num_layers * layer_size)
FROM (
    SELECT
        model, num_layers,
        CAST(hidden_size AS DOUBLE) * (
            4.0 * num_heads * coalesce(head_dim, v_head_dim, 0)
            + 3.0 * coalesce(intermediate_size, 0)
            + 3.0 * coalesce(top_k, 0) * coalesce(moe_intermediate_size, 0)
            + 3.0 * shared_intermediate_size
        ) AS layer_size
    FROM known
)
WHERE num_layers * layer_size > 1e15;

-- One row per known model: from a config.json, else from the table models.
--
-- The kind of attention follows from the fields present, in this order: compress_ratios (v4),
-- kv_lora_rank with index_top_k (dsa), kv_lora_rank (mla), else gqa, which includes MHA and MQA.
--
-- stored: in memory
--
-- key: model
--
-- model                     VARCHAR    short name; the key
-- name                      VARCHAR    the publisher's name
-- aliases                   VARCHAR    other names, separated by spaces
-- model_type                VARCHAR    model_type of its config.json, or of the language part
-- attention                 VARCHAR    gqa, mla, dsa or v4
-- num_layers                BIGINT     decoder layers, without those of multi-token prediction
-- hidden_size               BIGINT     width of the residual stream
-- num_heads                 BIGINT     query heads
-- num_kv_heads              BIGINT     key and value heads
-- head_dim                  BIGINT     width of a head; not for a latent attention
-- rotary_dim                BIGINT     rotated part of a head
-- qk_nope_head_dim          BIGINT     part of a latent attention's head that is not rotated
-- qk_rope_head_dim          BIGINT     part of it that is
-- v_head_dim                BIGINT     width of its values
-- q_lora_rank               BIGINT     width of the compressed query; NULL: not compressed
-- kv_lora_rank              BIGINT     width of the compressed keys and values
-- o_lora_rank               BIGINT     width of a group of the compressed output
-- o_groups                  BIGINT     groups of the output projection
-- intermediate_size         BIGINT     width of the MLP of dense layers
-- gated_mlp                 BOOLEAN    the MLP has a gate
-- num_experts               BIGINT     routed experts; 0 for a dense model
-- top_k                     BIGINT     experts per token
-- expert_groups             BIGINT     groups that the experts are divided into; NULL: none
-- top_groups                BIGINT     maximum number of these groups that a token's experts are in
-- moe_intermediate_size     BIGINT     width of an expert
-- num_shared_experts        BIGINT     experts that every token visits
-- shared_intermediate_size  BIGINT     their width together
-- shared_gate               BOOLEAN    their result is gated by a product with the token
-- first_dense_layers        BIGINT     leading layers without experts
-- moe_layer_step            BIGINT     after them every n-th layer has experts
-- moe_layer_offset          BIGINT     the layer that those are counted from
-- dense_layers              BIGINT[]   further layers without experts
-- index_heads               BIGINT     heads of the indexer of a sparse attention
-- index_head_dim            BIGINT     width of such a head
-- index_top_k               BIGINT     keys that it selects
-- sliding_window            BIGINT     keys that a windowed layer sees; for an encoder, on both
--                                      sides
-- full_every                BIGINT     every n-th layer sees all keys; NULL: none does
-- layer_types               VARCHAR[]  sliding_attention, or a type that sees all keys, layer by
--                                      layer
-- compress_ratios           BIGINT[]   tokens per compressed key, one per layer; 0: window only
-- hash_layers               BIGINT     leading layers that choose experts by the token's id
-- hc_mult                   BIGINT     residual streams of hyper-connections
-- mtp_layers                BIGINT     layers of multi-token prediction
-- vocab_size                BIGINT     tokens of the vocabulary
-- tied_embeddings           BOOLEAN    the head is the embedding
-- qk_norm                   BOOLEAN    queries and keys are normalised
-- qkv_bias                  BOOLEAN    the attention's projections have biases
-- attention_gate            BOOLEAN    its result is gated by a product with the token
-- is_encoder                BOOLEAN    tokens see those after them too
-- has_head                  BOOLEAN    a product with the vocabulary ends it: it predicts tokens;
--                                      encoders and rerankers have none, by the config's
--                                      architectures
-- max_positions             BIGINT     longest context, tokens
-- weight_dtype              VARCHAR    type of the linear layers' weights as published
-- expert_dtype              VARCHAR    type of the routed experts' weights
-- unquantized_dtype         VARCHAR    type of those weights of both kinds that are not quantised
-- gemm_dtype                VARCHAR    type of products where activations are quantised too; NULL:
--                                      by weights and activations
-- kv_cache_dtype            VARCHAR    type of the KV cache; NULL: that of activations
-- weight_scale_bytes        DOUBLE     bytes of scales per weight of expert_dtype, else
--                                      weight_dtype
-- linear_scale_bytes        DOUBLE     bytes of scales per weight of weight_dtype, where
--                                      expert_dtype is another type; NULL: none
-- published_active_b        DOUBLE     parameters active per token as published, billions
-- published_total_b         DOUBLE     all parameters as published, billions
-- source                    VARCHAR    where the dimensions are from
-- source_revision           VARCHAR    which version of it
-- fault                     VARCHAR    why the dimensions cannot be right; NULL if they can
-- remark                    VARCHAR    what was repaired
CREATE VIEW architectures AS
WITH faults AS (
    SELECT model, arg_min(fault, (priority, field)) AS unusable
    FROM (
        SELECT model, field, fault, 1 AS priority FROM _config_faults
        UNION ALL
        -- Values derived from others come after them.
        SELECT
            model, field, fault,
            CASE
                WHEN field = 'layer_types' THEN 1
                WHEN field IN ('head_dim', 'rotary_dim', 'shared_intermediate_size') THEN 3 ELSE 2
            END
        FROM _dimension_faults
    )
    GROUP BY model
)
SELECT
    m.model, name, aliases, model_type,
    CASE
        WHEN compress_ratios IS NOT NULL THEN 'v4'
        WHEN kv_lora_rank > 0 AND index_top_k > 0 THEN 'dsa'
        WHEN kv_lora_rank > 0 THEN 'mla'
        ELSE 'gqa'
    END AS attention,
    num_layers, hidden_size, num_heads, num_kv_heads, head_dim, rotary_dim, qk_nope_head_dim,
    qk_rope_head_dim, v_head_dim, nullif(q_lora_rank, 0) AS q_lora_rank,
    nullif(kv_lora_rank, 0) AS kv_lora_rank, nullif(o_lora_rank, 0) AS o_lora_rank, o_groups,
    intermediate_size, gated_mlp, num_experts, top_k, expert_groups, top_groups,
    moe_intermediate_size, num_shared_experts, shared_intermediate_size, shared_gate,
    first_dense_layers, moe_layer_step, moe_layer_offset, dense_layers,
    index_heads, index_head_dim, index_top_k, nullif(sliding_window, 0) AS sliding_window,
    full_every, layer_types, compress_ratios, hash_layers, hc_mult, mtp_layers, vocab_size,
    tied_embeddings, qk_norm, qkv_bias, attention_gate, is_encoder, has_head, max_positions,
    weight_dtype, expert_dtype, unquantized_dtype, gemm_dtype, kv_cache_dtype, weight_scale_bytes,
    linear_scale_bytes, published_active_b, published_total_b, source, source_revision,
    CASE
        WHEN unusable IS NOT NULL THEN unusable
        WHEN num_layers IS NULL THEN 'the number of layers is missing'
        WHEN hidden_size IS NULL THEN 'hidden_size is missing'
        WHEN num_heads IS NULL THEN 'the number of attention heads is missing'
        WHEN vocab_size IS NULL THEN 'vocab_size is missing'
        WHEN num_heads % nullif(num_kv_heads, 0) <> 0
            THEN printf('%d heads cannot share %d key-value heads', num_heads, num_kv_heads)
        WHEN len(compress_ratios) > 0 AND NOT ratios_fit
            THEN printf(
                'compress_ratios: %d entries for %d layers', surplus_ratios + num_layers, num_layers
            )
        WHEN num_experts > 0 AND top_k IS NULL
            THEN printf('top-k of %d experts is missing', num_experts)
        WHEN num_experts > 0 AND top_k NOT BETWEEN 1 AND num_experts
            THEN printf('top-k %d of %d experts', top_k, num_experts)
        WHEN num_experts % nullif(expert_groups, 0) <> 0
            THEN printf('%d experts cannot be cut into %d groups', num_experts, expert_groups)
        WHEN num_experts > 0 AND expert_groups > 0 AND top_groups NOT BETWEEN 1 AND expert_groups
            THEN printf('experts from %d of %d groups', top_groups, expert_groups)
        WHEN num_experts > 0 AND top_groups * (num_experts // nullif(expert_groups, 0)) < top_k
            THEN printf(
                'top-k %d of the experts in %d groups of %d', top_k, top_groups,
                num_experts // nullif(expert_groups, 0)
            )
        WHEN num_experts > 0 AND coalesce(moe_intermediate_size, 0) < 1
            THEN 'the width of an expert is missing'
        WHEN (num_experts = 0 OR first_dense_layers > 0) AND coalesce(intermediate_size, 0) < 1
            THEN 'intermediate_size is missing'
        WHEN first_dense_layers NOT BETWEEN 0 AND num_layers
            THEN 'more leading dense layers than layers'
        WHEN kv_lora_rank > 0 AND (qk_nope_head_dim IS NULL OR qk_rope_head_dim IS NULL
            OR v_head_dim IS NULL) THEN 'a latent attention without the widths of its heads'
        WHEN (kv_lora_rank > 0 OR compress_ratios IS NOT NULL)
            AND (qk_rope_head_dim < 1 OR qk_rope_head_dim % 2 <> 0)
            THEN printf(
                'qk_rope_head_dim is %d: the rotated part of a head is even', qk_rope_head_dim
            )
        WHEN len(layer_types) <> num_layers
            THEN printf('layer_types: %d entries for %d layers', len(layer_types), num_layers)
        WHEN num_experts > 0 AND len(moe_layer_list) <> num_layers
            THEN printf('moe_layer_freq: %d entries for %d layers', len(moe_layer_list), num_layers)
    END AS fault,
    CASE
        WHEN ratios_fit AND surplus_ratios NOT IN (0, mtp_layers)
            THEN printf(
                'compress_ratios: %d entries for %d layers: %d surplus zeros left out',
                surplus_ratios + num_layers, num_layers, surplus_ratios
            )
    END AS remark
FROM _known_models AS m
LEFT JOIN faults AS f ON f.model = m.model;
