-- One row per scenario and module: the sums over the layers of its busiest pipeline stage.
CREATE VIEW _module_sums AS
WITH named AS (
    SELECT
        *, CASE WHEN part IN ('ends', 'mtp') THEN '' ELSE 'layers.*.' END || module AS path
    FROM _operator_rows
),
physical AS (
    SELECT
        scenario_no, path, category,
        sum(stage_layers * flop_rank * m_eff) / nullif(sum(stage_layers * flop_rank), 0) AS m_eff,
        sum(stage_layers * tensor_flop)
        / nullif(sum(stage_layers * tensor_flop / tensor_efficiency), 0) AS tensor_efficiency,
        unnest(_stage_sums(o))
    FROM named AS o
    GROUP BY scenario_no, path, category
)
SELECT
    scenario_no, path AS module,
    CASE
        WHEN category IN ('attention', 'attention_core') THEN 'attention'
        WHEN category IN ('mlp', 'head', 'router', 'mhc') THEN 'linear'
        ELSE category
    END AS module_kind,
    category, m_eff, tensor_efficiency, tokens, flop, tensor_flop, realizable_flop,
    weight_bytes, activation_bytes, kv_bytes, temporary_bytes, net_bytes, compute_ms, peak_ms,
    hbm_ms, net_ms, serial_ms
FROM physical
UNION ALL
SELECT
    scenario_no, 'optimizer', 'elementwise', 'optimizer', NULL, NULL, tokens, 0, 0, 0,
    state_bytes, 0, 0, 0, gradient_bytes, 0, 0, state_ms, gradient_ms, state_ms + gradient_ms
FROM _optimizer_steps
WHERE state_bytes > 0;

-- One row per scenario and module: what a pass costs a rank of its busiest pipeline stage.
CREATE VIEW _module_costs AS
SELECT c.*, unnest(_roofline_rates(c))
FROM _module_sums AS c;

-- One row per scenario and module: what all its layers cost one rank of the busiest pipeline stage
-- in a pass.
--
-- key: scenario, module, category
--
-- scenario           VARCHAR  scenario
-- study              VARCHAR  sweep that it is a point of
-- formulas           VARCHAR  set of formulas: physical
-- execution          VARCHAR  profile of execution_profiles
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode; for training, the forward and backward
--                             pass of a microbatch with its part of the optimizer's step
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- cp                 BIGINT   context-parallel ranks
-- module             VARCHAR  module, an asterisk for the number of a layer; optimizer: the end of
--                             a step
-- module_kind        VARCHAR  attention, linear, moe, norm, embedding, elementwise or network
-- category           VARCHAR  category that its time is counted in
-- m_eff              DOUBLE   rows of one of its products
-- tensor_efficiency  DOUBLE   fraction of the matrix units' speed reached with this number of rows
-- flop               DOUBLE   FLOP of the matrix units
-- tensor_flop        DOUBLE   part of these that the matrix units can do
-- realizable_flop    DOUBLE   FLOP at full speed that take the same time
-- weight_bytes       DOUBLE   weights read; in training gradients and the optimizer's state too
-- activation_bytes   DOUBLE   activations read and written
-- kv_bytes           DOUBLE   KV cache read and written
-- temporary_bytes    DOUBLE   scores of an attention that leave the chip
-- hbm_bytes          DOUBLE   the sum of the four
-- net_bytes          DOUBLE   bytes sent to other chips
-- intensity_weights  DOUBLE   FLOP per byte of weights
-- intensity          DOUBLE   FLOP per byte of memory
-- intensity_total    DOUBLE   FLOP per byte of memory and network
-- compute_ms         DOUBLE   minimum time of matrix units or vector units, the larger
-- hbm_ms             DOUBLE   minimum time of the memory
-- net_ms             DOUBLE   minimum time of the network; NULL if its bandwidth is unknown
-- time_ms            DOUBLE   the largest of the three: the bound with perfect overlap; NULL if one
--                             of them is unknown, as serial_ms
-- serial_ms          DOUBLE   one operator after the other, each as long as its slowest resource
-- mfu                DOUBLE   time at the peak over time_ms, a fraction
-- effective_tflops   DOUBLE   FLOP over compute_ms, TFLOP/s
-- tflops             DOUBLE   FLOP over time_ms, TFLOP/s
-- tokens_per_s       DOUBLE   new tokens of a replica over time_ms
-- bound              VARCHAR  compute, memory or network: the largest time, in this order on a tie
CREATE VIEW module_roofline AS
SELECT
    s.scenario, s.study, s.formulas, s.execution, s.model, s.phase, s.hardware, s.batch,
    s.seq_len, s.kv_len, s.tp, s.ep, s.dp, s.pp, s.cp, module, module_kind, category, m_eff,
    tensor_efficiency, flop, tensor_flop, realizable_flop, weight_bytes, activation_bytes,
    kv_bytes, temporary_bytes, hbm_bytes, net_bytes, intensity_weights, intensity,
    intensity_total, compute_ms, hbm_ms, net_ms, time_ms, serial_ms, mfu, effective_tflops,
    tflops, tokens_per_s, bound
FROM _module_costs AS r
JOIN _scenario_rows AS s ON s.scenario_no = r.scenario_no;
