-- One row per scenario of the physical formulas and module: the columns of module_roofline.
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
-- module             VARCHAR  module, an asterisk for the number of a layer; optimizer: the end of
--                             a step
-- module_kind        VARCHAR  attention, linear, moe, norm, embedding, elementwise or network
-- category           VARCHAR  what its time is counted under
-- m_eff              DOUBLE   rows of one of its products
-- tensor_efficiency  DOUBLE   part of the matrix units' speed that so few rows reach
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
CREATE VIEW _physical_modules AS
WITH summed AS (
    SELECT
        question,
        CASE WHEN part IN ('ends', 'mtp') THEN '' ELSE 'layers.*.' END || module AS module,
        category,
        sum(stage_layers * flop_rank * m_eff) / nullif(sum(stage_layers * flop_rank), 0) AS m_eff,
        sum(stage_layers * tensor_flop)
        / nullif(sum(stage_layers * tensor_flop / tensor_efficiency), 0) AS tensor_efficiency,
        sum(stage_layers * flop_rank) AS flop,
        sum(stage_layers * tensor_flop) AS tensor_flop,
        sum(stage_layers * realizable_flop) AS realizable_flop,
        sum(stage_layers * weight_bytes) AS weight_bytes,
        sum(stage_layers * activation_bytes) AS activation_bytes,
        sum(stage_layers * kv_bytes) AS kv_bytes,
        sum(stage_layers * temporary_bytes) AS temporary_bytes,
        sum(stage_layers * net_bytes) AS net_bytes,
        sum(stage_layers * parameters_rank) AS parameters_rank,
        CASE
            WHEN NOT bool_or(flop_rank > 0 AND peak_tflops IS NULL)
                THEN sum(stage_layers * flop_us) / 1e3
        END AS tensor_ms,
        sum(stage_layers * vector_us) / 1e3 AS vector_ms,
        sum(stage_layers * flop_rank / peak_tflops) / 1e9 AS peak_ms,
        sum(stage_layers * hbm_us) / 1e3 AS hbm_ms,
        sum(stage_layers * net_us) / 1e3 AS net_ms,
        sum(
            CASE WHEN hidden THEN 0 ELSE stage_layers END
            * greatest(flop_us, vector_us, hbm_us, net_us)
        ) / 1e3 AS serial_ms
    FROM _operator_rows
    GROUP BY ALL
),
parts AS (
    SELECT
        question, module, category, m_eff, tensor_efficiency, flop, tensor_flop, realizable_flop,
        weight_bytes, activation_bytes, kv_bytes, temporary_bytes, net_bytes,
        CASE WHEN tensor_ms IS NOT NULL THEN greatest(tensor_ms, vector_ms) END AS compute_ms,
        peak_ms, hbm_ms, net_ms, serial_ms
    FROM summed
    UNION ALL
    SELECT
        question, 'optimizer', 'optimizer', NULL, NULL, 0, 0, 0, state_bytes, 0, 0, 0,
        gradient_bytes, 0, 0, state_ms, gradient_ms, state_ms + gradient_ms
    FROM _optimizer_steps
    WHERE state_bytes > 0
),
timed AS (
    -- Without a peak for the type there is no time, and nothing to compare.
    SELECT
        * REPLACE (CASE WHEN compute_ms IS NOT NULL THEN serial_ms END AS serial_ms),
        CASE WHEN compute_ms IS NOT NULL THEN greatest(compute_ms, hbm_ms, net_ms) END AS time_ms
    FROM parts
)
SELECT
    q.scenario, q.study, q.formulas, q.execution, q.model, q.phase, q.hardware, q.batch,
    q.seq_len, q.kv_len, q.tp, q.ep, q.dp, q.pp,
    module,
    CASE
        WHEN category IN ('attention', 'attention_core') THEN 'attention'
        WHEN category IN ('mlp', 'head', 'router', 'mhc') THEN 'linear'
        WHEN category = 'optimizer' THEN 'elementwise'
        ELSE category
    END AS module_kind,
    category, m_eff, tensor_efficiency,
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
