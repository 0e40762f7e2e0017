-- What a config.json gives about the kinds of its layers, from a map of its properties to their
-- values. NULL: it does not give it; defaults by model_type are those of model_types, of which
-- use_sliding_window is given.
--
-- Layers with experts are every n-th (moe_layer_step), counted from moe_layer_offset, after
-- first_dense_layers and without those in dense_layers, which has those after last_moe_layer too.
-- Layers between every n-th (attention_every), or other than full_attention_layers, counted from 1,
-- have linear attention.
CREATE MACRO config_layers(fields, use_sliding_window) AS {
    'model_type': config_model_type(fields),
    'num_layers': TRY_CAST(fields['num_layers'] AS BIGINT),
    'num_experts': TRY_CAST(fields['num_experts'] AS BIGINT),
    'first_dense_layers': TRY_CAST(fields['first_dense_layers'] AS BIGINT),
    'moe_layer_step': coalesce(
        TRY_CAST(fields['moe_layer_freq'] AS BIGINT),
        TRY_CAST(fields['decoder_sparse_step'] AS BIGINT)
    ),
    'moe_layer_list': TRY_CAST(fields['moe_layer_freq'] AS BIGINT[]),
    'moe_layer_offset': CASE
        -- DeepSeek counts from the first layer of all, Qwen and ERNIE to the last of n.
        WHEN TRY_CAST(fields['moe_layer_freq'] AS BIGINT) IS NOT NULL THEN 0
        ELSE TRY_CAST(fields['decoder_sparse_step'] AS BIGINT) - 1
    END,
    'dense_layers': list_distinct(
        list_concat(
            coalesce(TRY_CAST(fields['mlp_only_layers'] AS BIGINT[]), []),
            list_filter(
                range(TRY_CAST(fields['num_layers'] AS BIGINT)),
                lambda n: TRY_CAST(fields['mlp_layer_types'] AS VARCHAR[])[n + 1] = 'dense'
                    OR TRY_CAST(fields['moe_layer_freq'] AS BIGINT[])[n + 1] = 0
                    -- ERNIE 4.5: -1 is the last layer of all.
                    OR TRY_CAST(fields['last_moe_layer'] AS BIGINT) BETWEEN 0 AND n - 1
            )
        )
    ),
    'sliding_window': CASE
        WHEN coalesce(
            TRY_CAST(fields['use_sliding_window'] AS BOOLEAN), use_sliding_window
        ) IS NOT FALSE
            THEN TRY_CAST(fields['sliding_window'] AS BIGINT)
    END,
    -- A pattern such as LLLG ends with the layer that sees all keys.
    'full_every': coalesce(
        TRY_CAST(fields['full_every'] AS BIGINT), len(fields['full_every'] ->> '$')
    ),
    'attention_every': TRY_CAST(fields['attention_every'] AS BIGINT),
    'full_attention_layers': coalesce(
        TRY_CAST(fields['linear_attention'] -> '$.full_attn_layers' AS BIGINT[]),
        -- Ling: the last layer of a group, and those after the last whole group.
        CASE
            WHEN TRY_CAST(fields['layer_group_size'] AS BIGINT) > 1
                THEN list_filter(
                    range(1, TRY_CAST(fields['num_layers'] AS BIGINT) + 1),
                    lambda n: n % TRY_CAST(fields['layer_group_size'] AS BIGINT) = 0
                        OR n > TRY_CAST(fields['num_layers'] AS BIGINT)
                        - TRY_CAST(fields['num_layers'] AS BIGINT)
                        % TRY_CAST(fields['layer_group_size'] AS BIGINT)
                )
        END
    ),
    'layer_types': coalesce(
        TRY_CAST(fields['layer_types'] AS VARCHAR[]),
        -- Qwen2: the window applies from this layer on.
        CASE
            WHEN coalesce(
                TRY_CAST(fields['use_sliding_window'] AS BOOLEAN), use_sliding_window
            ) IS NOT FALSE
                AND TRY_CAST(fields['sliding_window'] AS BIGINT) IS NOT NULL
                AND TRY_CAST(fields['max_window_layers'] AS BIGINT) IS NOT NULL
                THEN list_transform(
                    range(TRY_CAST(fields['num_layers'] AS BIGINT)),
                    lambda n: CASE
                        WHEN n >= TRY_CAST(fields['max_window_layers'] AS BIGINT)
                            THEN 'sliding_attention'
                        ELSE 'full_attention'
                    END
                )
        END,
        -- ModernBERT: the first layer sees all keys, and every n-th after it.
        CASE
            WHEN TRY_CAST(fields['global_every'] AS BIGINT) IS NOT NULL
                THEN list_transform(
                    range(TRY_CAST(fields['num_layers'] AS BIGINT)),
                    lambda n: CASE
                        WHEN n % TRY_CAST(fields['global_every'] AS BIGINT) = 0
                            THEN 'full_attention'
                        ELSE 'sliding_attention'
                    END
                )
        END
    ),
    'compress_ratios': TRY_CAST(fields['compress_ratios'] AS BIGINT[]),
    'hash_layers': TRY_CAST(fields['hash_layers'] AS BIGINT),
    'mtp_layers': coalesce(
        TRY_CAST(fields['mtp_layers'] AS BIGINT),
        TRY_CAST(fields['mtp_modules'] AS BIGINT)
        * coalesce(TRY_CAST(fields['mtp_transformer_layers'] AS BIGINT), 1)
    )
};
