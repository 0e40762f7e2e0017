-- One row per model and dimension beyond the limits of config_fields, whoever gave it.
--
-- model  VARCHAR  name
-- field  VARCHAR  dimension
-- fault  VARCHAR  the dimension, its value, and what is expected
CREATE VIEW _dimension_faults AS
WITH dimensions AS (
    UNPIVOT (
        SELECT
            model, num_layers, hidden_size, num_heads, num_kv_heads, head_dim, rotary_dim,
            qk_nope_head_dim, qk_rope_head_dim, v_head_dim, q_lora_rank, kv_lora_rank, o_lora_rank,
            o_groups, intermediate_size, num_experts, top_k, expert_groups, top_groups,
            moe_intermediate_size, num_shared_experts, shared_intermediate_size,
            first_dense_layers, index_heads, index_head_dim, index_top_k, sliding_window,
            full_every, hash_layers, hc_mult, mtp_layers, vocab_size, max_positions
        FROM _known_models
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
    FROM _known_models
)
WHERE num_layers * layer_size > 1e15;
