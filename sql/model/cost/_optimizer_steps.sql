-- One row per scenario of the physical formulas: a microbatch's part of an optimizer step, zeros
-- without training. Adam with FP32 gradients, master weights and two moments: gradients are read,
-- the other three read and written, weights written.
--
-- Replicas, and context-parallel ranks like them, sum up gradients in an all-reduce; those of
-- experts among the ranks that hold the same ones. With ZeRO (Rajbhandari et al. 2020) each keeps a
-- part: gradients are reduced and scattered, weights gathered; at stage 1 once a step, at stage 2
-- gradients with each microbatch, and at stage 3 both, the weights before either pass.
--
-- scenario_no     BIGINT  number of the scenario
-- tokens          BIGINT  new tokens of a replica
-- state_bytes     DOUBLE  bytes of the step that a rank reads and writes, per microbatch
-- state_ms        DOUBLE  minimum time of the memory for them
-- gradient_bytes  DOUBLE  bytes of gradients and weights that a rank sends, per microbatch
-- gradient_ms     DOUBLE  minimum time of the network for them
-- slot_ms         DOUBLE  part of it that is spent with each microbatch, not once a step
CREATE VIEW _optimizer_steps AS
WITH trained AS (
    SELECT
        scenario_no,
        sum(CASE WHEN weights = 'expert' THEN 0 ELSE stage_layers * parameters_rank END)
            AS shared,
        sum(CASE WHEN weights = 'expert' THEN stage_layers * parameters_rank ELSE 0 END)
            AS experts
    FROM _operator_rows
    WHERE phase = 'training'
    GROUP BY scenario_no
),
held AS (
    SELECT
        q.*, coalesce(shared, 0) AS shared, coalesce(experts, 0) AS experts, dp * cp AS replicas,
        greatest(dp * cp * tp / ep, 1) AS expert_replicas,
        -- Replicas in one domain: they are tp ranks apart, those of experts ep.
        greatest(coalesce(domain_size // tp, dp * cp), 1) AS near,
        greatest(coalesce(domain_size // ep, dp * cp), 1) AS expert_near,
        -- Bytes sent per parameter in the limit of infinitely many replicas.
        CASE zero_stage WHEN 0 THEN 8.0 WHEN 1 THEN 4.0 ELSE 4.0 * microbatches
        END AS reduced_bytes,
        CASE zero_stage WHEN 0 THEN 0 WHEN 3 THEN 2 * microbatches ELSE 1 END AS gathers
    FROM _priced_scenarios AS q
    LEFT JOIN trained ON trained.scenario_no = q.scenario_no
    WHERE formulas = 'physical'
),
moved AS (
    SELECT
        *,
        (
            shared * (28 + linear_size) / CASE WHEN zero_stage > 0 THEN replicas ELSE 1 END
            + experts * (28 + expert_size)
            / CASE WHEN zero_stage > 0 THEN expert_replicas ELSE 1 END
        ) / microbatches AS state_bytes,
        shared * (reduced_bytes + gathers * linear_size) * (replicas - 1) / replicas
        / microbatches AS shared_bytes,
        experts * (reduced_bytes + gathers * expert_size) * (expert_replicas - 1) / expert_replicas
        / microbatches AS expert_bytes
    FROM held
)
SELECT
    scenario_no, tokens, state_bytes, state_bytes / (hbm_gbps * hbm_fraction) / 1e6 AS state_ms,
    shared_bytes + expert_bytes AS gradient_bytes,
    CASE
        WHEN shared_bytes = 0 THEN 0.0
        ELSE _network_us(
            shared_bytes, 'all_reduce', replicas, near,
            link_gbps * net_fraction * _link_share(peer_links, FALSE, least(replicas, near)),
            scaleout_gbps * net_fraction, link_us, scaleout_us, 1
        ) / 1e3
    END + CASE
        WHEN expert_bytes = 0 THEN 0.0
        ELSE _network_us(
            expert_bytes, 'all_reduce', expert_replicas, expert_near,
            link_gbps * net_fraction
            * _link_share(peer_links, FALSE, least(expert_replicas, expert_near)),
            scaleout_gbps * net_fraction, link_us, scaleout_us, 1
        ) / 1e3
    END AS gradient_ms,
    CASE zero_stage
        WHEN 3 THEN gradient_ms
        WHEN 2 THEN gradient_ms * reduced_bytes / (reduced_bytes + linear_size)
        ELSE 0.0
    END AS slot_ms
FROM moved;
