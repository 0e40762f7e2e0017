-- One row per scenario of the reference report's formulas and module entry: the columns of
-- module_roofline.
--
-- scenario           VARCHAR  scenario
-- study              VARCHAR  sweep that it is a point of
-- formulas           VARCHAR  seed
-- execution          VARCHAR  profile of execution_profiles
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode
-- hardware           VARCHAR  chip
-- batch              BIGINT   B, sequences per chip
-- seq_len            BIGINT   S, new tokens of a sequence
-- kv_len             BIGINT   L, cached tokens of a sequence
-- tp                 BIGINT   degree of tensor parallelism; it changes nothing here
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- module             VARCHAR  path, an asterisk for the number of a layer
-- module_kind        VARCHAR  attention, linear, embedding or network
-- category           VARCHAR  what the report counts it under
-- m_eff              DOUBLE   rows of its products
-- tensor_efficiency  DOUBLE   eta_tc, by those rows
-- flop               DOUBLE   F_theory
-- tensor_flop        DOUBLE   F_tensorcore: what matrix units can do of it
-- realizable_flop    DOUBLE   F_realizable: FLOP at full speed that take as long
-- weight_bytes       DOUBLE   bytes_weights
-- activation_bytes   DOUBLE   bytes_activations
-- kv_bytes           DOUBLE   bytes_kv
-- temporary_bytes    DOUBLE   bytes_temporary
-- hbm_bytes          DOUBLE   bytes_hbm, the sum of the four
-- net_bytes          DOUBLE   bytes_net
-- intensity_weights  DOUBLE   AI_weights_only, FLOP/byte
-- intensity          DOUBLE   AI_hbm, FLOP/byte
-- intensity_total    DOUBLE   AI_total, with the network's bytes, FLOP/byte
-- compute_ms         DOUBLE   T_comp
-- hbm_ms             DOUBLE   T_hbm
-- net_ms             DOUBLE   T_net
-- time_ms            DOUBLE   T_est, the largest of the three
-- serial_ms          DOUBLE   the same as time_ms: a module is one step
-- mfu                DOUBLE   MFU_est, a fraction of P_peak
-- effective_tflops   DOUBLE   P_effective, TFLOP/s
-- achieved_tflops    DOUBLE   TF_est, TFLOP/s
-- tokens_per_s       DOUBLE   tokens of a chip over time_ms
-- bound              VARCHAR  compute, memory or network: the largest time, in this order on a tie
CREATE VIEW _seed_modules AS
WITH timed AS (
    SELECT *, greatest(compute_ms, hbm_ms, net_ms) AS time_ms
    FROM _seed_terms
)
SELECT
    s.scenario, s.study, s.formulas, s.execution, s.model, s.phase, s.hardware, s.batch, s.seq_len,
    s.kv_len, s.tp, s.ep, s.dp, s.pp,
    module, module_kind, category, m_eff, tensor_efficiency,
    flop, tensor_flop, realizable_flop, weight_bytes, activation_bytes, kv_bytes, temporary_bytes,
    hbm_bytes, net_bytes,
    coalesce(flop / nullif(weight_bytes, 0), 0) AS intensity_weights,
    coalesce(flop / nullif(hbm_bytes, 0), 0) AS intensity,
    coalesce(flop / nullif(hbm_bytes + net_bytes, 0), 0) AS intensity_total,
    compute_ms, hbm_ms, net_ms, time_ms, time_ms AS serial_ms,
    coalesce(1000 * flop / nullif(peak_flops * time_ms, 0), 0) AS mfu,
    coalesce(peak_flops * flop / nullif(realizable_flop, 0), 0) / 1e12 AS effective_tflops,
    coalesce(flop / nullif(time_ms, 0), 0) / 1e9 AS achieved_tflops,
    coalesce(1000 * tokens / nullif(time_ms, 0), 0) AS tokens_per_s,
    CASE
        WHEN compute_ms >= hbm_ms AND compute_ms >= net_ms THEN 'compute'
        WHEN hbm_ms >= net_ms THEN 'memory'
        WHEN net_ms > hbm_ms THEN 'network'
    END AS bound
FROM timed
JOIN scenarios AS s ON s.rowid = timed.point;
