-- One row per scenario of the physical formulas: what is resident on a rank of the busiest pipeline
-- stage.
--
-- Training keeps gradients in FP32 and Adam's two moments and master weights; replicas and context-
-- parallel ranks share them, and weights, as the stage of ZeRO says. A stage has as many
-- microbatches under way as there are stages.
--
-- point             BIGINT  number of the scenario
-- other_bytes       DOUBLE  weights without routed experts
-- expert_bytes      DOUBLE  weights of routed experts
-- kv_bytes          DOUBLE  KV cache; none in training
-- gradient_bytes    DOUBLE  gradients; none but in training, as the next two
-- optimizer_bytes   DOUBLE  moments and master weights
-- activation_bytes  DOUBLE  activations saved for the backward pass
-- sequence_bytes    DOUBLE  KV cache of one sequence; in training its activations
-- budget_bytes      DOUBLE  memory of the chip
CREATE VIEW _physical_memory AS
WITH summed AS (
    SELECT
        question,
        sum(CASE WHEN weights = 'expert' THEN 0 ELSE stage_layers * parameters_rank END)
            AS parameters,
        sum(CASE WHEN weights = 'expert' THEN stage_layers * parameters_rank ELSE 0 END)
            AS expert_parameters,
        sum(CASE WHEN weights = 'expert' THEN 0 ELSE stage_layers * parameter_bytes END)
            AS other_bytes,
        sum(CASE WHEN weights = 'expert' THEN stage_layers * parameter_bytes ELSE 0 END)
            AS expert_bytes,
        sum(stage_layers * resident_bytes) AS kv_bytes,
        sum(stage_layers * saved_bytes) AS saved_bytes
    FROM _operator_rows
    GROUP BY question
),
held AS (
    SELECT
        s.*, q.trains, q.request_count, CASE WHEN q.trains THEN zero_stage ELSE 0 END AS zero_stage,
        q.dp * q.cp AS replicas, greatest(q.dp * q.cp * q.tp / q.ep, 1) AS expert_replicas,
        parameters + expert_parameters AS held_parameters,
        -- What is left of them where ranks that hold the same ones share them.
        parameters / replicas + expert_parameters / expert_replicas AS shared_parameters,
        saved_bytes * least(q.pp, q.microbatches) AS kept_bytes, h.hbm_gb * 1e9 AS budget_bytes
    FROM summed AS s
    JOIN _priced_questions AS q USING (question)
    LEFT JOIN hardware AS h ON h.hardware = q.hardware
)
SELECT
    question AS point,
    other_bytes / CASE WHEN zero_stage >= 3 THEN replicas ELSE 1 END AS other_bytes,
    expert_bytes / CASE WHEN zero_stage >= 3 THEN expert_replicas ELSE 1 END AS expert_bytes,
    CASE WHEN trains THEN 0 ELSE kv_bytes END AS kv_bytes,
    CASE
        WHEN NOT trains THEN 0
        WHEN zero_stage >= 2 THEN 4 * shared_parameters
        ELSE 4 * held_parameters
    END AS gradient_bytes,
    CASE
        WHEN NOT trains THEN 0
        WHEN zero_stage >= 1 THEN 12 * shared_parameters
        ELSE 12 * held_parameters
    END AS optimizer_bytes,
    CASE WHEN trains THEN kept_bytes ELSE 0 END AS activation_bytes,
    CASE WHEN trains THEN kept_bytes ELSE kv_bytes END / request_count AS sequence_bytes,
    budget_bytes
FROM held;
