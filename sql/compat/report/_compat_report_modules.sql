-- Work and bytes of the attention of all layers, given the scenario's row of _compat_report_inputs.
--
-- The report's errors are kept: all pairs are counted, none is hidden by a mask; an attention that
-- is not latent has queries, keys and a cache of the hidden width.
CREATE MACRO _compat_attention(i) AS {
    m_eff: i.tokens,
    tensor_share: i.attention_tensor_share,
    flop: i.flop_factor * i.layers * CASE
        WHEN i.latent_flop_per_pair IS NOT NULL
            THEN i.attention_scale
                * (i.latent_flop_per_token * i.tokens + i.latent_flop_per_pair * i.pairs)
        ELSE 8 * i.tokens * i.hidden * i.hidden + 4 * i.pairs * i.hidden + i.heads * i.pairs
    END,
    weight_bytes: i.byte_factor * i.layers * i.attention_parameters * i.weight_bytes
        * i.attention_scale / i.attention_residency,
    -- In, out, queries, keys and values; decode has keys and values once more.
    activation_bytes: i.byte_factor * i.layers * CASE WHEN i.is_decode THEN 7 ELSE 5 END
        * i.tokens * i.hidden * i.activation_factor * i.activation_bytes,
    kv_bytes: i.byte_factor * i.layers * i.kv_elements * i.kv_bytes
        * CASE WHEN i.is_decode THEN i.batch * i.kv_len + i.batch ELSE i.tokens END,
    temporary_bytes: i.byte_factor * i.layers * i.elementwise_factor * i.activation_bytes
        * CASE WHEN i.flash THEN i.tokens * i.heads ELSE 2 * i.heads * i.pairs END,
    net_bytes: 0.0
};

-- Work and bytes of router, routed and shared experts of all layers, taken as a family, given the
-- scenario's row of _compat_report_inputs.
--
-- The report's error is kept: one efficiency for all of them, by the mean of their rows.
CREATE MACRO _compat_experts(i) AS {
    m_eff: greatest(
        round_even(
            (
                6 * i.tokens * i.hidden * i.expert_width * i.top_k * i.active_rows
                + 6 * i.tokens * i.hidden * i.expert_width * i.shared_experts * i.tokens
            ) / (6 * i.tokens * i.hidden * i.expert_width * (i.top_k + i.shared_experts)),
            0
        ),
        1
    ),
    tensor_share: i.linear_tensor_share,
    flop: i.flop_factor * i.moe_layers * (
        2 * i.tokens * i.hidden * i.experts
        + 6 * i.tokens * i.hidden * i.expert_width * (i.top_k + i.shared_experts)
    ),
    weight_bytes: i.byte_factor * i.moe_layers * i.weight_bytes / i.moe_residency * (
        i.hidden * i.experts
        + (i.local_experts * i.touched + i.shared_experts) * 3 * i.hidden * i.expert_width
    ),
    activation_bytes: i.byte_factor * i.moe_layers * i.tokens * i.activation_factor
        * i.activation_bytes * (
            i.hidden + i.experts
            + (i.top_k + i.shared_experts) * 3 * (i.hidden + i.expert_width)
        ),
    kv_bytes: 0.0,
    temporary_bytes: 0.0,
    net_bytes: 0.0
};

-- Work and bytes of a linear layer or embedding, all its instances, given the scenario's row of
-- _compat_report_inputs with the module's of _compat_report_entries.
--
-- The report's errors are kept: an embedding is read whole, and has FLOP; the head takes all tokens
-- of a prompt; experts of a model taken module by module are all on every chip, whatever EP is.
CREATE MACRO _compat_linear(i) AS {
    m_eff: CASE WHEN i.is_routed THEN greatest(round_even(i.active_rows, 0), 1) ELSE i.tokens END,
    tensor_share: CASE WHEN i.module_kind = 'embedding' THEN i.embedding_tensor_share
        ELSE i.linear_tensor_share END,
    flop: i.flop_factor * i.instances * CASE
        WHEN i.module_kind = 'embedding' THEN i.tokens * i.scaled_outputs
        ELSE 2 * i.tokens * i.scaled_inputs * i.scaled_outputs * i.visited
    END,
    weight_bytes: i.byte_factor * i.instances * i.parameters * i.weight_bytes
        * CASE WHEN i.is_routed THEN i.touched ELSE 1 END
        * CASE
            WHEN i.module_kind = 'embedding' AND NOT i.by_family THEN i.hidden_scale
            ELSE (i.scaled_inputs * i.scaled_outputs) / (i.inputs * i.outputs)
        END
        / CASE WHEN i.in_experts THEN i.moe_residency ELSE i.dense_residency END,
    activation_bytes: i.byte_factor * i.instances * i.tokens * i.visited * i.activation_factor
        * i.activation_bytes
        * CASE WHEN i.module_kind = 'embedding' THEN i.scaled_outputs
            ELSE i.scaled_inputs + i.scaled_outputs END,
    kv_bytes: 0.0,
    temporary_bytes: 0.0,
    net_bytes: 0.0
};

-- The visits of tokens to experts of other chips, given the scenario's row of
-- _compat_report_inputs.
--
-- The report's errors are kept: training sends as much as prefill, both ways in the same type.
CREATE MACRO _compat_dispatch(i) AS {
    m_eff: i.batch,
    tensor_share: i.network_tensor_share,
    flop: 0.0,
    weight_bytes: 0.0,
    activation_bytes: 0.0,
    kv_bytes: 0.0,
    temporary_bytes: 0.0,
    net_bytes: _compat_moved_bytes(i) * (i.ep - 1) / i.ep
};

-- One row per model and module entry of the reference report; the dispatch to experts is one too.
CREATE VIEW _compat_report_entries AS
WITH listed AS (
    SELECT
        model,
        unnest(
            CASE
                WHEN moe_layers > 0
                    THEN list_append(
                        entries,
                        {
                            module: 'moe.dispatch.interconnect',
                            module_kind: 'network',
                            category: 'network',
                            in_experts: FALSE,
                            is_routed: FALSE,
                            instances: moe_layers,
                            parameters: 0.0,
                            inputs: 0.0,
                            outputs: 0.0,
                            inputs_grow: FALSE,
                            outputs_grow: FALSE
                        }
                    )
                ELSE entries
            END
        ) AS entry
    FROM _compat_report_models
)
SELECT model, unnest(entry)
FROM listed;

-- One row per scenario of the reference report's formulas and module entry: work, bytes and times.
--
-- Few rows leave matrix units partly idle, and work that they cannot do runs at a fraction of their
-- speed: realizable_flop is the work at full speed that takes equally long.
--
-- instead of: compat._module_sums
--
-- scenario_no        BIGINT   the scenario's row
-- module             VARCHAR  path, an asterisk for the number of a layer
-- module_kind        VARCHAR  attention, linear, embedding or network
-- category           VARCHAR  what the report counts it under
-- m_eff              DOUBLE   rows of its products
-- tensor_efficiency  DOUBLE   eta_tc, by those rows
-- tokens             BIGINT   tokens of the pass
-- flop               DOUBLE   F_theory
-- tensor_flop        DOUBLE   F_tensorcore
-- realizable_flop    DOUBLE   F_realizable
-- weight_bytes       DOUBLE   bytes_weights
-- activation_bytes   DOUBLE   bytes_activations
-- kv_bytes           DOUBLE   bytes_kv
-- temporary_bytes    DOUBLE   bytes_temporary
-- net_bytes          DOUBLE   bytes_net
-- compute_ms         DOUBLE   T_comp
-- peak_ms            DOUBLE   time of F_theory at P_peak
-- hbm_ms             DOUBLE   T_hbm
-- net_ms             DOUBLE   T_net
-- serial_ms          DOUBLE   the longest of the three times
CREATE VIEW _compat_report_modules AS
WITH placed AS (
    SELECT
        i.*, m.* EXCLUDE (model),
        CASE
            WHEN inputs_grow THEN greatest(round_even(inputs * hidden_scale, 0), 1)
            ELSE inputs
        END AS scaled_inputs,
        CASE
            WHEN outputs_grow THEN greatest(round_even(outputs * hidden_scale, 0), 1)
            ELSE outputs
        END AS scaled_outputs,
        CASE WHEN is_routed THEN top_k / experts ELSE 1 END AS visited
    FROM _compat_report_inputs AS i
    JOIN _compat_report_entries AS m USING (model)
    WHERE module_kind <> 'network' OR ep > 1
),
worked AS (
    SELECT
        point, module, CASE module_kind WHEN 'experts' THEN 'linear' ELSE module_kind
        END AS module_kind,
        category, tokens, peak_flops, flop_rate, hbm_rate, net_rate, saturation_rows,
        scalar_efficiency,
        CASE module_kind
            WHEN 'attention' THEN _compat_attention(placed)
            WHEN 'experts' THEN _compat_experts(placed)
            WHEN 'network' THEN _compat_dispatch(placed)
            ELSE _compat_linear(placed)
        END AS work
    FROM placed
),
used AS (
    SELECT
        * EXCLUDE (work), unnest(work),
        coalesce(least(1, work.m_eff / saturation_rows), 1) AS tensor_efficiency,
        work.tensor_share * work.flop AS tensor_flop,
        work.weight_bytes + work.activation_bytes + work.kv_bytes + work.temporary_bytes
            AS hbm_bytes
    FROM worked
),
costed AS (
    SELECT
        *,
        tensor_flop / greatest(1e-12, tensor_efficiency)
        + (flop - tensor_flop) / greatest(1e-12, scalar_efficiency) AS realizable_flop
    FROM used
)
SELECT
    point AS scenario_no, module, module_kind, category, m_eff, tensor_efficiency,
    CAST(tokens AS BIGINT) AS tokens, flop, tensor_flop, realizable_flop, weight_bytes,
    activation_bytes, kv_bytes, temporary_bytes, net_bytes,
    1000 * realizable_flop / flop_rate AS compute_ms,
    1000 * flop / peak_flops AS peak_ms,
    1000 * hbm_bytes / hbm_rate AS hbm_ms,
    1000 * net_bytes / net_rate AS net_ms, greatest(compute_ms, hbm_ms, net_ms) AS serial_ms
FROM costed;
