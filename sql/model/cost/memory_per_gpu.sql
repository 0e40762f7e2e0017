-- One row per scenario: what is resident on a rank of the busiest pipeline stage.
--
-- Training keeps gradients in FP32 and Adam's two moments and master weights; replicas and
-- context-parallel ranks shard them, and weights, by the ZeRO stage. A stage has as many
-- microbatches in flight as there are stages, and in inference the caches of as many batches;
-- interleaved stages have 1 + (pp - 1) / (pp x virtual_stages) times as many microbatches
-- (Korthikanti et al. 2022). The backward pass of one begins with the head, for which all logits
-- are held in FP32; with recompute each layer then holds what it computes again, of which the
-- largest attention and the largest MLP count.
CREATE VIEW _resident_bytes AS
WITH parts AS (
    SELECT
        scenario_no, part,
        sum(CASE WHEN weights = 'expert' THEN 0 ELSE stage_layers * parameters_rank END)
            AS parameters,
        sum(CASE WHEN weights = 'expert' THEN stage_layers * parameters_rank ELSE 0 END)
            AS expert_parameters,
        sum(CASE WHEN weights = 'expert' THEN 0 ELSE stage_layers * parameter_bytes END)
            AS other_bytes,
        sum(CASE WHEN weights = 'expert' THEN stage_layers * parameter_bytes ELSE 0 END)
            AS expert_bytes,
        sum(stage_layers * resident_bytes) AS kv_bytes,
        sum(stage_layers * saved_bytes) AS saved_bytes,
        sum(stage_layers * transient_bytes) AS transient_bytes,
        sum(transient_bytes) FILTER (stage_layers > 0) AS layer_bytes
    FROM _operator_rows
    GROUP BY scenario_no, part
),
summed AS (
    SELECT
        scenario_no, sum(parameters) AS parameters, sum(expert_parameters) AS expert_parameters,
        sum(other_bytes) AS other_bytes, sum(expert_bytes) AS expert_bytes,
        sum(kv_bytes) AS kv_bytes, sum(saved_bytes) AS saved_bytes,
        greatest(
            sum(transient_bytes) FILTER (part IN ('ends', 'mtp')),
            max(layer_bytes) FILTER (part = 'layer')
            + max(layer_bytes) FILTER (part IN ('dense', 'moe'))
            + max(layer_bytes) FILTER (part NOT IN ('layer', 'dense', 'moe', 'ends', 'mtp'))
        ) AS transient_bytes
    FROM parts
    GROUP BY scenario_no
),
held AS (
    SELECT
        s.* EXCLUDE (kv_bytes), s.kv_bytes * q.pp AS kv_bytes, q.trains, q.request_count,
        CASE WHEN q.trains THEN zero_stage ELSE 0 END AS zero_stage,
        q.dp * q.cp AS replicas, greatest(q.dp * q.cp * q.tp / q.ep, 1) AS expert_replicas,
        parameters + expert_parameters AS held_parameters,
        -- The part left on a rank if ranks that hold the same ones shard them.
        parameters / replicas + expert_parameters / expert_replicas AS shared_parameters,
        saved_bytes * least(
            q.pp + CASE WHEN virtual_stages > 1 THEN (q.pp - 1) / virtual_stages ELSE 0 END,
            q.microbatches
        ) + transient_bytes AS kept_bytes,
        h.hbm_gb * 1e9 AS budget_bytes
    FROM summed AS s
    JOIN _priced_scenarios AS q USING (scenario_no)
    LEFT JOIN hardware AS h ON h.hardware = q.hardware
)
SELECT
    scenario_no,
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

-- One row per scenario: what is resident on a chip, and whether it fits.
--
-- The chip is a rank of the busiest pipeline stage. While one batch is in a stage, others are in
-- the other stages, as chip_tokens_per_s of phase_roofline assumes: for each of its layers a stage
-- holds the cache of as many batches as there are stages. GB are decimal; the runtime's memory is
-- left out.
--
-- key: scenario
--
-- scenario            VARCHAR  scenario
-- study               VARCHAR  sweep that it is a point of
-- formulas            VARCHAR  set of formulas: physical
-- execution           VARCHAR  profile of execution_profiles
-- model               VARCHAR  model
-- phase               VARCHAR  training, prefill or decode
-- hardware            VARCHAR  chip
-- batch               BIGINT   sequences of a replica that are in a stage at once
-- seq_len             BIGINT   new tokens of a sequence
-- kv_len              BIGINT   cached tokens of a sequence
-- tp                  BIGINT   degree of tensor parallelism
-- ep                  BIGINT   degree of expert parallelism
-- dp                  BIGINT   data-parallel replicas
-- pp                  BIGINT   pipeline stages
-- cp                  BIGINT   context-parallel ranks
-- other_weight_bytes  DOUBLE   weights without routed experts
-- expert_bytes        DOUBLE   weights of routed experts
-- weight_bytes        DOUBLE   both
-- kv_bytes            DOUBLE   KV cache of all batches after the pass; 0 in training
-- gradient_bytes      DOUBLE   gradients; only in training, like the next two
-- optimizer_bytes     DOUBLE   moments and master weights
-- activation_bytes    DOUBLE   activations saved for the backward pass, with logits in FP32 or, if
--                              it is more, what recompute computes again of a layer
-- total_bytes         DOUBLE   the sum of all
-- sequence_bytes      DOUBLE   bytes that one more sequence in each batch adds
-- budget_bytes        DOUBLE   memory of the chip; NULL if it is unknown, as the next two then
-- fits                BOOLEAN  the total is within the budget
-- max_batch           BIGINT   the largest batch that fits; 0 if not even the weights do
CREATE VIEW memory_per_gpu AS
WITH held AS (
    SELECT
        scenario_no, other_bytes, expert_bytes, kv_bytes, gradient_bytes, optimizer_bytes,
        activation_bytes, sequence_bytes, budget_bytes,
        other_bytes + expert_bytes + gradient_bytes + optimizer_bytes AS fixed_bytes
    FROM _resident_bytes
)
SELECT
    s.scenario, s.study, s.formulas, s.execution, s.model, s.phase, s.hardware, s.batch, s.seq_len,
    s.kv_len, s.tp, s.ep, s.dp, s.pp, s.cp, other_bytes AS other_weight_bytes, expert_bytes,
    other_bytes + expert_bytes AS weight_bytes, kv_bytes, gradient_bytes, optimizer_bytes,
    activation_bytes, fixed_bytes + kv_bytes + activation_bytes AS total_bytes, sequence_bytes,
    budget_bytes, fixed_bytes + kv_bytes + activation_bytes <= budget_bytes AS fits,
    CASE
        WHEN budget_bytes IS NOT NULL
            THEN CAST(
                floor(greatest(budget_bytes - fixed_bytes, 0) / nullif(sequence_bytes, 0)) AS BIGINT
            )
    END AS max_batch
FROM held
JOIN _scenario_rows AS s ON s.scenario_no = held.scenario_no;
