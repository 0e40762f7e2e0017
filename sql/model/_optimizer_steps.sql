-- One row per scenario of the physical formulas: the part of an optimizer's step that a microbatch
-- carries, zeros where nothing is trained. Adam with FP32 gradients, master weights and two
-- moments: gradients are read, the three read and written, weights written. Replicas sum up
-- gradients in an all-reduce; those of experts in the ranks that hold the same ones.
--
-- question        BIGINT  number of the scenario
-- state_bytes     DOUBLE  bytes of the step that a rank reads and writes, per microbatch
-- state_ms        DOUBLE  least time of the memory for them
-- gradient_bytes  DOUBLE  bytes of gradients that a rank sends, per microbatch
-- gradient_ms     DOUBLE  least time of the network for them
CREATE VIEW _optimizer_steps AS
WITH trained AS (
    SELECT
        question,
        sum(CASE WHEN category = 'moe' THEN 0.0 ELSE stage_layers * parameters_rank END) AS shared,
        sum(CASE WHEN category = 'moe' THEN stage_layers * parameters_rank ELSE 0.0 END) AS experts
    FROM _operator_rows
    WHERE phase = 'training'
    GROUP BY question
),
sizes AS (
    SELECT
        q.question, hbm_gbps * hbm_fraction AS hbm_gbps, link_gbps * net_fraction AS link_gbps,
        scaleout_gbps * net_fraction AS scaleout_gbps, domain_size, tp, dp,
        greatest(dp * tp / ep, 1) AS expert_ranks,
        coalesce((shared + experts) * (4 + 24 + linear_size) / microbatches, 0) AS state_bytes,
        coalesce(2 * 4 * shared * (dp - 1) / dp / microbatches, 0) AS shared_bytes,
        coalesce(2 * 4 * experts / microbatches, 0) AS expert_bytes
    FROM _priced_questions AS q
    LEFT JOIN trained ON trained.question = q.question
    WHERE formulas = 'physical'
),
sent AS (
    SELECT
        question, hbm_gbps, link_gbps, scaleout_gbps, domain_size, tp, dp, state_bytes,
        shared_bytes + expert_bytes * (expert_ranks - 1) / expert_ranks AS gradient_bytes
    FROM sizes
)
SELECT
    question, state_bytes, state_bytes / hbm_gbps / 1e6 AS state_ms, gradient_bytes,
    CASE
        WHEN gradient_bytes = 0 THEN 0.0
        ELSE _network_us(
            gradient_bytes, TRUE, tp * dp, domain_size, link_gbps, scaleout_gbps
        ) / 1e3
    END AS gradient_ms
FROM sent;
