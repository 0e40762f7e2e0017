-- One row per scenario of the reference report's formulas and module entry: work, bytes and times.
--
-- Few rows leave matrix units idle, and what they cannot do runs at a fraction of their speed:
-- realizable_flop is the work at full speed that takes as long.
--
-- point              BIGINT   the scenario's row
-- module             VARCHAR  path, an asterisk for the number of a layer
-- module_kind        VARCHAR  attention, linear, embedding or network
-- category           VARCHAR  what the report counts it under
-- m_eff              DOUBLE   rows of its products
-- tensor_efficiency  DOUBLE   eta_tc, by those rows
-- tokens             DOUBLE   tokens of the pass
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
CREATE VIEW _seed_terms AS
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
    FROM _seed_inputs AS i
    JOIN _seed_entries AS m USING (model)
    WHERE module_kind <> 'network' OR ep > 1
),
worked AS (
    SELECT
        point, module, CASE module_kind WHEN 'experts' THEN 'linear' ELSE module_kind
        END AS module_kind,
        category, tokens, peak_flops, flop_rate, hbm_rate, net_rate, saturation_rows,
        scalar_efficiency,
        CASE module_kind
            WHEN 'attention' THEN _seed_attention(placed)
            WHEN 'experts' THEN _seed_experts(placed)
            WHEN 'network' THEN _seed_dispatch(placed)
            ELSE _seed_linear(placed)
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
    point, module, module_kind, category, m_eff, tensor_efficiency, tokens, flop, tensor_flop,
    realizable_flop, weight_bytes, activation_bytes, kv_bytes, temporary_bytes, net_bytes,
    1000 * realizable_flop / flop_rate AS compute_ms,
    1000 * flop / peak_flops AS peak_ms,
    1000 * hbm_bytes / hbm_rate AS hbm_ms,
    1000 * net_bytes / net_rate AS net_ms
FROM costed;
