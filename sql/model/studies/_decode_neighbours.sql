-- One row per scenario of decode in a study, beside the next smaller batch of its sweep.
--
-- study              VARCHAR  sweep
-- formulas           VARCHAR  set of formulas: physical
-- execution          VARCHAR  profile of execution_profiles
-- model              VARCHAR  model
-- hardware           VARCHAR  chip
-- kv_len             BIGINT   cached tokens of a sequence
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- pp                 BIGINT   pipeline stages
-- kv_dtype           VARCHAR  type of the KV cache, from the scenario
-- top_k              BIGINT   experts per token, from the scenario
-- hidden_scale       DOUBLE   hidden width over the model's
-- kv_rank_scale      DOUBLE   width of compressed keys and values over the model's
-- settings           STRUCT   these and others of the scenario, by column
-- batch              BIGINT   sequences
-- bound              VARCHAR  compute, memory or network
-- knee               DOUBLE   peak over memory bandwidth, FLOP/byte
-- flop               DOUBLE   FLOP of the pass
-- hbm_bytes          DOUBLE   bytes in memory
-- kv_bytes           DOUBLE   part of these in the KV cache
-- net_bytes          DOUBLE   bytes sent to other chips
-- intensity          DOUBLE   FLOP per byte in memory
-- compute_ms         DOUBLE   time of compute
-- hbm_ms             DOUBLE   time of memory
-- net_ms             DOUBLE   time of the network
-- ahead_ms           DOUBLE   time of compute minus the longer of memory's and network's
-- weight_bytes       DOUBLE   bytes of a weight; NULL: unknown type
-- experts_per_visit  DOUBLE   experts of a chip over those that a token visits
-- batch_before       BIGINT   sequences of the next smaller batch
-- flop_before        DOUBLE   its FLOP
-- hbm_bytes_before   DOUBLE   its bytes in memory
-- kv_bytes_before    DOUBLE   those of its KV cache
-- net_bytes_before   DOUBLE   its bytes sent
-- intensity_before   DOUBLE   its FLOP per byte
-- ahead_before       DOUBLE   its ahead_ms
CREATE VIEW _decode_neighbours AS
WITH swept AS (
    SELECT
        p.study, p.formulas, p.execution, p.model, p.hardware, p.kv_len, p.tp, p.ep, p.pp,
        s.kv_dtype, s.top_k, s.hidden_scale, s.kv_rank_scale, e.settings,
        p.batch, p.bound,
        -- Peak and bandwidth as used to compute the times.
        1e9 * p.tflops / nullif(p.mfu * p.hbm_bytes / p.hbm_ms, 0) AS knee,
        p.flop, p.hbm_bytes, p.kv_bytes, p.net_bytes, p.intensity, p.compute_ms, p.hbm_ms, p.net_ms,
        p.compute_ms - greatest(p.hbm_ms, p.net_ms) AS ahead_ms,
        weights.element_bytes AS weight_bytes,
        ceil(a.num_experts / p.ep) / coalesce(s.top_k, a.top_k) AS experts_per_visit
    FROM phase_roofline AS p
    JOIN scenarios AS s USING (scenario)
    JOIN _scenario_settings AS e USING (scenario)
    LEFT JOIN architectures AS a ON a.model = s.model
    LEFT JOIN element_sizes AS weights
        ON weights.dtype = coalesce(s.weight_dtype, a.weight_dtype)
    WHERE p.phase = 'decode' AND p.study IS NOT NULL AND p.hbm_ms > 0
        AND p.time_ms IS NOT NULL
)
SELECT
    study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k, hidden_scale,
    kv_rank_scale, settings, batch, bound, knee, flop, hbm_bytes, kv_bytes, net_bytes, intensity,
    compute_ms, hbm_ms, net_ms, ahead_ms, weight_bytes, experts_per_visit,
    lag(batch) OVER sweep AS batch_before, lag(flop) OVER sweep AS flop_before,
    lag(hbm_bytes) OVER sweep AS hbm_bytes_before, lag(kv_bytes) OVER sweep AS kv_bytes_before,
    lag(net_bytes) OVER sweep AS net_bytes_before, lag(intensity) OVER sweep AS intensity_before,
    lag(ahead_ms) OVER sweep AS ahead_before
FROM swept
WINDOW sweep AS (
    PARTITION BY
        study, formulas, execution, model, hardware, kv_len, tp, ep, pp, kv_dtype, top_k,
        hidden_scale, kv_rank_scale, settings
    ORDER BY batch
);
