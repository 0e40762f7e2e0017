-- One row per model and dimension beyond the limits of config_fields, whoever gave it, or layers
-- that have no operators here.
--
-- model  VARCHAR  name
-- field  VARCHAR  dimension
-- fault  VARCHAR  the dimension, its value, and what is expected
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
        -- Other dimensions say how these are costed.
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
-- All of them at once: what a token meets, roughly.
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
