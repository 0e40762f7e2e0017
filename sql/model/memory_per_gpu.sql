-- One row per scenario: what is resident on a chip, and whether it fits.
--
-- By the physical formulas on a rank of the busiest pipeline stage, in decimal GB and without what
-- the runtime takes; by those of the reference report with 1024³ bytes to a GB.
--
-- scenario            VARCHAR  scenario
-- study               VARCHAR  sweep that it is a point of
-- formulas            VARCHAR  physical or seed
-- execution           VARCHAR  profile of execution_profiles
-- model               VARCHAR  model
-- phase               VARCHAR  training, prefill or decode
-- hardware            VARCHAR  chip
-- batch               BIGINT   sequences of a replica
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
-- kv_bytes            DOUBLE   KV cache after the pass; none in training
-- gradient_bytes      DOUBLE   gradients; none but in training, as the next two
-- optimizer_bytes     DOUBLE   moments and master weights
-- activation_bytes    DOUBLE   activations saved for the backward pass
-- total_bytes         DOUBLE   the sum of all
-- sequence_bytes      DOUBLE   part of it that one more sequence adds
-- budget_bytes        DOUBLE   memory of the chip
-- fits                BOOLEAN  the total is within the budget
-- max_batch           BIGINT   most sequences of a replica that fit; 0: not even the weights do
CREATE VIEW memory_per_gpu AS
WITH resident AS (
    SELECT
        point, other_bytes, expert_bytes, kv_bytes, gradient_bytes, optimizer_bytes,
        activation_bytes, sequence_bytes, budget_bytes
    FROM _physical_memory
    UNION ALL
    SELECT
        point, other_bytes, expert_bytes, kv_bytes, gradient_bytes, optimizer_bytes,
        activation_bytes, sequence_bytes, budget_bytes
    FROM _seed_memory
),
held AS (
    SELECT
        point, other_bytes, expert_bytes, kv_bytes, gradient_bytes, optimizer_bytes,
        activation_bytes, sequence_bytes, budget_bytes,
        other_bytes + expert_bytes + gradient_bytes + optimizer_bytes AS fixed_bytes
    FROM resident
)
SELECT
    s.scenario, s.study, s.formulas, s.execution, s.model, s.phase, s.hardware, s.batch, s.seq_len,
    s.kv_len, s.tp, s.ep, s.dp, s.pp, s.cp, other_bytes AS other_weight_bytes, expert_bytes,
    other_bytes + expert_bytes AS weight_bytes, kv_bytes, gradient_bytes, optimizer_bytes,
    activation_bytes, fixed_bytes + kv_bytes + activation_bytes AS total_bytes, sequence_bytes,
    budget_bytes, fixed_bytes + kv_bytes + activation_bytes <= budget_bytes AS fits,
    CAST(
        floor(greatest(budget_bytes - fixed_bytes, 0) / nullif(sequence_bytes, 0)) AS BIGINT
    ) AS max_batch
FROM held
JOIN scenarios AS s ON s.rowid = held.point;
