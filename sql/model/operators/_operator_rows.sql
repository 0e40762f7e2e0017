-- Share of the matrix units' work that is not padding: results are cut into tiles, and as many
-- tiles as there are multiprocessors are computed at a time.
CREATE MACRO _tile_efficiency(row_count, column_count, products, tile_rows, tile_columns, sms) AS
    row_count / (tile_rows * ceil(row_count / tile_rows))
    * column_count / (tile_columns * ceil(column_count / tile_columns))
    * coalesce(
        products * ceil(row_count / tile_rows) * ceil(column_count / tile_columns)
        / (
            sms
            * ceil(products * ceil(row_count / tile_rows) * ceil(column_count / tile_columns) / sms)
        ),
        1
    );

-- One row per scenario, part of a layer and operator: the rows of the relation operators, with
-- equal ones of several kinds of layers merged, and the number of the scenario.
--
-- In training a row covers the forward and the backward pass of a microbatch: products count three
-- times, attention three and a half times if the backward pass recomputes the scores, both once
-- more with recompute; weights are read for each, gradients in FP32 written, or read and written if
-- they are summed up over microbatches.
--
-- scenario_no        BIGINT   number of the scenario
-- scenario           VARCHAR  scenario
-- model              VARCHAR  model
-- phase              VARCHAR  prefill, decode or training
-- part               VARCHAR  kind of attention or of MLP, layer, ends or mtp
-- kinds              STRUCT[] kinds of layers that have it, with the number of each
-- mtp_layers         BIGINT   layers of multi-token prediction, like the last one
-- layers             BIGINT   layers that have it
-- stage_layers       BIGINT   of these, layers of the last pipeline stage, the busiest
-- op_seq             INTEGER  place in the layer
-- op                 VARCHAR  operator
-- module             VARCHAR  module that holds it
-- fused_op           VARCHAR  product that engines make of it and its neighbours
-- category           VARCHAR  category
-- rows               VARCHAR  what its rows are
-- row_count          BIGINT   rows of a replica
-- tokens             BIGINT   new tokens of a replica
-- m_eff              DOUBLE   rows of one product on one rank: those that share weights or keys
-- tensor_efficiency  DOUBLE   part of the matrix units' speed that so few rows reach
-- n                  BIGINT   columns of its result
-- k                  BIGINT   inner dimension
-- instances          BIGINT   products side by side
-- n_rank             BIGINT   columns that one rank holds
-- k_rank             BIGINT   inner dimension that one rank holds
-- row_reads          BIGINT   elements that a row reads
-- row_writes         BIGINT   elements that a row writes
-- flop               BIGINT   FLOP of a replica
-- flop_rank          DOUBLE   FLOP of one rank
-- tensor_flop        DOUBLE   part of these that the matrix units do
-- realizable_flop    DOUBLE   FLOP at full speed that take as long
-- vector_flop        BIGINT   FLOP outside the matrix units of a replica
-- vector_flop_rank   DOUBLE   the same of one rank
-- weights            VARCHAR  class of its weights
-- parameters_rank    DOUBLE   weights that a rank holds; 0 for the head of multi-token prediction,
--                             which is the model's
-- parameter_bytes    DOUBLE   the same, bytes
-- saved_bytes        DOUBLE   activations that a rank keeps for the backward pass
-- transient_bytes    DOUBLE   those that it holds only while the backward pass is there: logits in
--                             FP32, and with recompute what is computed again
-- resident_bytes     DOUBLE   KV cache that a rank holds after the pass
-- weight_bytes       DOUBLE   weights that a rank reads, and gradients
-- activation_bytes   DOUBLE   activations that a rank reads and writes
-- alone_bytes        DOUBLE   the same were it a kernel of its own
-- kv_bytes           DOUBLE   KV cache that a rank reads and writes
-- temporary_bytes    DOUBLE   scores that leave the chip
-- net_bytes          DOUBLE   bytes that a rank sends
-- split              VARCHAR  how ranks share it
-- split_factor       DOUBLE   FLOP of a replica over those of a rank
-- hidden             BOOLEAN  done in the kernel of a neighbour
-- dtype              VARCHAR  type it computes in, in most layers
-- peak_tflops        DOUBLE   dense peak, TFLOP/s; of layers in two types the mean of their times
-- flop_us            DOUBLE   minimum time of the matrix units, µs
-- vector_us          DOUBLE   minimum time of the vector units, µs
-- hbm_us             DOUBLE   minimum time of the memory, µs
-- net_us             DOUBLE   minimum time of the network, µs
CREATE VIEW _operator_rows AS
-- Materialized: else the scenarios, of which there may be a million, are joined with the inputs of
-- the template.
WITH template AS MATERIALIZED (
    SELECT
        t.* EXCLUDE (model_layers, layer_ids), s.stages,
        -- The last stage has the head, and as many layers as any other. The first has the
        -- embeddings.
        CASE
            WHEN category = 'embedding' AND stages > 1 THEN 0
            WHEN layer_ids IS NULL THEN layers
            ELSE len(list_filter(
                layer_ids, lambda id: id >= model_layers - (model_layers + stages - 1) // stages
            ))
        END AS stage_layers
    FROM _template AS t
    CROSS JOIN (SELECT DISTINCT pp AS stages FROM _scenario_rows) AS s
),
worked AS (
    SELECT
        q.*, t.* EXCLUDE (variant, stages, layers, stage_layers),
        layers + CASE WHEN last_kind THEN mtp_layers ELSE 0 END AS layers,
        stage_layers + CASE WHEN last_kind THEN mtp_layers ELSE 0 END AS stage_layers,
        CASE rows
            WHEN 'tokens' THEN tokens
            -- A cached prefix is stored compressed: its keys are expanded again.
            WHEN 'expanded' THEN tokens + cached_tokens
            WHEN 'logits' THEN logit_rows
            WHEN 'assignments' THEN tokens * top_k
            WHEN 'pairs'
                THEN CASE
                    WHEN given_pairs IS NOT NULL AND attention_kind IN ('gqa', 'mla')
                        THEN given_pairs
                    ELSE _pairs(
                        attention_kind || CASE WHEN is_encoder THEN ' both ways' ELSE '' END,
                        batch, seq_len, kv_len, requests, sliding_window, compress_ratio,
                        index_top_k
                    )
                END
            WHEN 'index_pairs'
                THEN _index_pairs(attention_kind, batch, seq_len, kv_len, requests, compress_ratio)
        END AS row_count,
        CASE kv_rows
            WHEN 'looked_up'
                THEN _cached_keys(
                    attention_kind, batch, seq_len, kv_len, requests, sliding_window,
                    compress_ratio, index_top_k
                )
            WHEN 'indexed' THEN cached_tokens // greatest(compress_ratio, 1)
            WHEN 'new' THEN tokens / cp
            WHEN 'index_new' THEN tokens / cp / greatest(compress_ratio, 1)
        END AS kv_row_count,
        tokens / cp AS rank_tokens,
        -- The last tokens, whose logits inference needs, are on one rank; and each rank expands all
        -- keys that are passed around the ring.
        CASE
            WHEN rows = 'expanded' OR rows = 'logits' AND NOT trains THEN 1
            ELSE cp
        END AS token_ranks,
        CASE split
            WHEN 'tp' THEN CAST(tp AS DOUBLE)
            WHEN 'kv_heads' THEN kv_split
            WHEN 'experts' THEN tp / expert_imbalance
            -- Replicas that share a head gather their rows first.
            WHEN 'head_tp' THEN CAST(least(tp, head_tp) AS DOUBLE)
            ELSE 1.0
        END AS split_factor,
        -- Share of the keys and values of all heads that a rank holds.
        CASE WHEN attention_kind IN ('gqa', 'window') THEN 1 / kv_split ELSE 1.0 END AS key_share,
        -- Number of parts into which the split dimension is divided.
        CASE split
            WHEN 'tp' THEN CAST(tp AS DOUBLE)
            WHEN 'kv_heads' THEN kv_split
            WHEN 'experts' THEN CAST(expert_tp AS DOUBLE)
            WHEN 'head_tp' THEN CAST(head_tp AS DOUBLE)
            ELSE 1.0
        END AS side_factor
    FROM _priced_scenarios AS q
    JOIN template AS t
        ON t.variant = q.variant AND t.stages = q.pp AND (t.form IS NULL OR t.form = q.form)
    WHERE
        q.formulas = 'physical' AND (part <> 'mtp' OR mtp_layers > 0)
        AND CASE net
            WHEN 'all_reduce' THEN tp > 1
            WHEN 'all_gather' THEN head_tp > 1
            WHEN 'ring' THEN cp > 1
            WHEN 'send' THEN pp > 1
            -- Experts on ranks of one replica already have its tokens.
            WHEN 'dispatch' THEN ep > tp
            WHEN 'combine' THEN ep > tp
            ELSE TRUE
        END
),
shared AS (
    SELECT
        *,
        CASE
            WHEN category = 'attention_core' THEN rank_tokens
            WHEN split = 'experts'
                THEN rank_tokens * top_k * expert_imbalance * group_ranks / ep
            WHEN split = 'head_tp' THEN row_count / token_ranks * greatest(head_tp / tp, 1)
            ELSE row_count / token_ranks
        END AS rank_rows,
        row_count * CASE WHEN category = 'attention_core' THEN core_passes ELSE passes END
            AS worked_rows,
        worked_rows / split_factor / token_ranks AS worked_rank_rows,
        CASE
            WHEN weights = 'head' THEN head_dtype
            WHEN weights = 'fp32' THEN 'fp32'
            WHEN weights IN ('linear', 'expert')
                THEN CASE WHEN plain_share > 0.5 THEN plain_dtype ELSE gemm_dtype END
            WHEN category = 'attention_core' THEN core_dtype
            ELSE 'fp32'
        END AS dtype,
        CASE
            WHEN weights = 'head' THEN head_tflops
            WHEN weights = 'fp32' THEN fp32_tflops
            WHEN weights IN ('linear', 'expert')
                THEN CASE
                    WHEN plain_share = 0 THEN gemm_tflops
                    -- Layers of both types take the mean of their times.
                    ELSE 1 / ((1 - plain_share) / gemm_tflops + plain_share / plain_tflops)
                END
            WHEN category = 'attention_core' THEN core_tflops
            ELSE vector_tflops
        END AS peak_tflops,
        CASE weights
            WHEN 'linear' THEN (1 - plain_share) * linear_size + plain_share * plain_size
            WHEN 'expert' THEN (1 - plain_share) * expert_size + plain_share * plain_size
            WHEN 'fp32' THEN 4.0
            WHEN 'norm' THEN activation_size
            ELSE head_size
        END AS weight_size,
        weight_elements / side_factor
        * CASE WHEN weights = 'expert' THEN num_experts / ep ELSE 1 END AS parameters_rank
    FROM worked
),
weighed AS (
    SELECT
        *,
        CAST(worked_rows * row_flop AS BIGINT) AS flop,
        CAST(worked_rows * row_vector_flop AS BIGINT) AS vector_flop,
        worked_rank_rows * row_flop AS flop_rank,
        worked_rank_rows * row_vector_flop AS vector_flop_rank,
        CASE
            WHEN category = 'attention_core'
                THEN rank_tokens / request_count * heads_per_key
                    / CASE WHEN attention_kind IN ('gqa', 'window') THEN 1 ELSE split_factor END
            WHEN weights = 'expert' THEN rank_rows / visited_experts
            ELSE rank_rows
        END AS m_eff,
        CASE
            WHEN weights IN ('linear', 'head') THEN weight_elements * weight_size / side_factor
            WHEN weights = 'expert'
                THEN weight_elements * weight_size * visited_experts / side_factor
            WHEN weights IN ('norm', 'fp32') THEN weight_elements * weight_size
            ELSE 0.0
        END * weight_reads + gradient_moves * parameters_rank AS weight_bytes_rank,
        rank_rows * activation_size * passes AS pass_bytes,
        row_reads / CASE WHEN split_side IN ('k', 'instances') THEN side_factor ELSE 1 END
            AS rank_reads,
        CASE WHEN split_side IN ('n', 'instances') THEN side_factor ELSE 1 END AS write_factor,
        pass_bytes * (rank_reads + row_writes / write_factor) AS alone_bytes,
        pass_bytes * (rank_reads + fused_writes / write_factor) AS fused_bytes,
        CASE
            WHEN trains OR kv_row_count IS NULL THEN 0.0
            -- Index keys are stored in FP8.
            WHEN kv_rows IN ('indexed', 'index_new') THEN 1.0 * kv_row_count * kv_elements
            ELSE kv_size * kv_row_count * kv_elements * key_share
        END AS kv_bytes_rank,
        CASE net
            WHEN 'all_reduce' THEN 2.0 * rank_tokens * activation_size * (tp - 1) / tp
            WHEN 'dispatch' THEN rank_tokens * top_k * dispatch_size / tp * (ep - 1) / ep
            -- The busiest rank sends back what all others sent to its experts.
            WHEN 'combine'
                THEN rank_tokens * top_k * activation_size * expert_imbalance / tp * (ep - 1) / ep
            WHEN 'ring'
                THEN _resident_keys(
                    attention_kind, batch, seq_len, kv_len, requests, sliding_window,
                    compress_ratio
                ) * kv_size * key_share * (cp - 1) / cp
            WHEN 'all_gather' THEN 1.0 * row_count * activation_size * (head_tp - 1) / head_tp
            WHEN 'send' THEN rank_tokens * activation_size / tp * virtual_stages
            ELSE 0.0
        END * net_elements
        * CASE WHEN NOT trains THEN 1.0 WHEN net = 'ring' THEN 3.0 ELSE 2.0 END AS net_bytes,
        CASE net
            WHEN 'all_reduce' THEN tp
            WHEN 'all_gather' THEN head_tp
            WHEN 'ring' THEN cp
            WHEN 'send' THEN 2
            ELSE ep
        END AS net_ranks,
        -- Ranks are numbered by tensor, context, data and pipeline parallelism in this order.
        CASE
            WHEN domain_size IS NULL THEN net_ranks
            WHEN net = 'ring' THEN greatest(domain_size // tp, 1)
            WHEN net = 'send' THEN CASE WHEN tp * cp * dp * pp <= domain_size THEN 2 ELSE 1 END
            ELSE domain_size
        END AS near_ranks
    FROM shared
),
limited AS (
    SELECT
        *,
        CASE
            WHEN fused AND fuses THEN 0.0
            -- The backward pass needs the results that fusion would not write.
            WHEN fuses AND NOT trains THEN fused_bytes
            ELSE alone_bytes
        END AS moved_bytes,
        CASE WHEN category = 'attention_core' THEN core_share ELSE linear_share END * flop_rank
            AS tensor_flop,
        CASE
            WHEN row_flop = 0 THEN 1.0
            WHEN tile_rows IS NOT NULL AND category <> 'attention_core'
                THEN _tile_efficiency(
                    m_eff, n / CASE WHEN split_side = 'n' THEN side_factor ELSE 1 END,
                    coalesce(instances, CASE WHEN weights = 'expert' THEN visited_experts END, 1)
                    / CASE WHEN split_side = 'instances' THEN side_factor ELSE 1 END,
                    tile_rows, tile_columns, num_sms
                )
            WHEN saturation_rows IS NOT NULL THEN least(1, m_eff / saturation_rows)
            ELSE 1.0
        END AS tensor_efficiency,
        CASE WHEN part = 'mtp' AND weights = 'head' THEN 0.0 ELSE parameters_rank END
            AS held_parameters,
        rank_rows * saves * rank_reads * activation_size AS needed_bytes
    FROM weighed
)
SELECT
    scenario_no, scenario, model, phase, part, kinds, mtp_layers, layers, stage_layers, op_seq, op,
    module, fused_op, category, rows, row_count, tokens, m_eff, tensor_efficiency,
    n, k, instances,
    CASE WHEN split_side = 'n' THEN CAST(n / side_factor AS BIGINT) ELSE n END AS n_rank,
    CASE WHEN split_side = 'k' THEN CAST(k / side_factor AS BIGINT) ELSE k END AS k_rank,
    row_reads, row_writes, flop, flop_rank, tensor_flop,
    tensor_flop / tensor_efficiency + (flop_rank - tensor_flop) / scalar_share AS realizable_flop,
    vector_flop, vector_flop_rank, weights, held_parameters AS parameters_rank,
    held_parameters * weight_size AS parameter_bytes,
    CASE WHEN trains AND (NOT recompute OR op = 'input_norm') THEN needed_bytes ELSE 0.0 END
        AS saved_bytes,
    CASE WHEN trains AND recompute AND op <> 'input_norm' THEN needed_bytes ELSE 0.0 END
    + CASE WHEN trains AND category = 'head' THEN 4.0 * rank_rows * n / side_factor ELSE 0.0 END
        AS transient_bytes,
    CASE
        WHEN trains OR kv_rows IS NULL OR kv_rows NOT IN ('new', 'index_new') THEN 0.0
        ELSE _resident_keys(
            CASE WHEN kv_rows = 'index_new' THEN 'index' ELSE attention_kind END, batch, seq_len,
            kv_len, requests, sliding_window, compress_ratio
        ) * kv_elements * CASE
            WHEN kv_rows = 'index_new' THEN 1.0
            ELSE kv_size * key_share
        END / cp
    END AS resident_bytes,
    weight_bytes_rank AS weight_bytes,
    CASE WHEN rows = 'pairs' AND category = 'elementwise' THEN 0.0 ELSE moved_bytes END
        AS activation_bytes,
    alone_bytes, kv_bytes_rank AS kv_bytes,
    CASE WHEN rows = 'pairs' AND category = 'elementwise' THEN moved_bytes ELSE 0.0 END
        AS temporary_bytes,
    net_bytes, split, split_factor * token_ranks AS split_factor, fused AND fuses AS hidden, dtype,
    peak_tflops,
    (tensor_flop / tensor_efficiency + (flop_rank - tensor_flop) / scalar_share)
    / (peak_tflops * flop_fraction) / 1e6 AS flop_us,
    vector_flop_rank / vector_tflops / 1e6 AS vector_us,
    (weight_bytes_rank + moved_bytes + kv_bytes_rank) / (hbm_gbps * hbm_fraction) / 1e3 AS hbm_us,
    CASE
        WHEN net_bytes = 0 THEN 0.0
        ELSE _network_us(
            net_bytes, net, net_ranks, near_ranks,
            link_gbps * net_fraction
            * _link_share(peer_links, net IN ('ring', 'send'), least(net_ranks, near_ranks)),
            scaleout_gbps * net_fraction, link_us, scaleout_us, copied_share
        )
    END AS net_us
FROM limited;
