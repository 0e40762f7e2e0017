-- One row per scenario of the physical formulas: the columns of phase_roofline.
--
-- scenario           VARCHAR  scenario
-- study              VARCHAR  sweep that it is a point of
-- formulas           VARCHAR  physical or seed
-- execution          VARCHAR  profile of execution_profiles
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode; of training the forward and backward
--                             pass of a microbatch with its part of the optimizer's step
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- flop               DOUBLE   FLOP of the matrix units
-- tensor_flop        DOUBLE   part of these that the matrix units can do
-- realizable_flop    DOUBLE   FLOP at full speed that take as long
-- weight_bytes       DOUBLE   weights read; in training gradients and the optimizer's state too
-- activation_bytes   DOUBLE   activations read and written
-- kv_bytes           DOUBLE   KV cache read and written
-- temporary_bytes    DOUBLE   scores of an attention that leave the chip
-- hbm_bytes          DOUBLE   the sum of the four
-- net_bytes          DOUBLE   bytes sent to other chips
-- intensity_weights  DOUBLE   FLOP per byte of weights
-- intensity          DOUBLE   FLOP per byte of memory
-- intensity_total    DOUBLE   FLOP per byte of memory and network
-- compute_ms         DOUBLE   least time of matrix units or vector units, the larger
-- hbm_ms             DOUBLE   least time of the memory
-- net_ms             DOUBLE   least time of the network
-- time_ms            DOUBLE   the largest of the three: with perfect overlap no pass is quicker
-- serial_ms          DOUBLE   one operator after the other, each as long as its slowest resource
-- mfu                DOUBLE   time at the peak over time_ms, a fraction
-- effective_tflops   DOUBLE   FLOP over compute_ms, TFLOP/s
-- achieved_tflops    DOUBLE   FLOP over time_ms, TFLOP/s
-- tokens_per_s       DOUBLE   new tokens of a replica over time_ms
-- bound              VARCHAR  compute, memory or network: the largest time, in this order on a tie
CREATE VIEW _physical_phases AS
WITH summed AS (
    SELECT
        question, flop, tensor_flop, realizable_flop, weight_bytes + state_bytes AS weight_bytes,
        activation_bytes, kv_bytes, temporary_bytes, net_bytes + gradient_bytes AS net_bytes,
        CASE WHEN tensor_ms IS NOT NULL THEN greatest(tensor_ms, vector_ms) END AS compute_ms,
        peak_ms, hbm_ms + state_ms AS hbm_ms, net_ms + gradient_ms AS net_ms,
        serial_ms + state_ms + gradient_ms AS serial_ms
    FROM _physical_totals
    JOIN _optimizer_steps USING (question)
),
timed AS (
    -- Without a peak for the type there is no time, and nothing to compare.
    SELECT
        * REPLACE (CASE WHEN compute_ms IS NOT NULL THEN serial_ms END AS serial_ms),
        CASE WHEN compute_ms IS NOT NULL THEN greatest(compute_ms, hbm_ms, net_ms) END AS time_ms
    FROM summed
)
SELECT
    q.scenario, q.study, q.formulas, q.execution, q.model, q.phase, q.hardware, q.batch,
    q.seq_len, q.kv_len, q.tp, q.ep, q.dp, q.pp,
    flop, tensor_flop, realizable_flop, weight_bytes, activation_bytes, kv_bytes, temporary_bytes,
    weight_bytes + activation_bytes + kv_bytes + temporary_bytes AS hbm_bytes, net_bytes,
    flop / nullif(weight_bytes, 0) AS intensity_weights,
    flop / nullif(weight_bytes + activation_bytes + kv_bytes + temporary_bytes, 0) AS intensity,
    flop / nullif(weight_bytes + activation_bytes + kv_bytes + temporary_bytes + net_bytes, 0)
        AS intensity_total,
    compute_ms, hbm_ms, net_ms, time_ms, serial_ms, peak_ms / time_ms AS mfu,
    flop / nullif(compute_ms, 0) / 1e9 AS effective_tflops,
    flop / nullif(time_ms, 0) / 1e9 AS achieved_tflops,
    1e3 * tokens / nullif(time_ms, 0) AS tokens_per_s,
    CASE
        WHEN time_ms IS NULL THEN NULL
        WHEN compute_ms >= hbm_ms AND compute_ms >= net_ms THEN 'compute'
        WHEN hbm_ms >= net_ms THEN 'memory'
        ELSE 'network'
    END AS bound
FROM timed AS t
JOIN _priced_questions AS q ON q.question = t.question;
