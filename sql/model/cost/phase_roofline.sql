-- One row per scenario: what a pass costs one rank of its busiest pipeline stage, and which
-- resource bounds it.
--
-- key: scenario
--
-- scenario           VARCHAR  scenario
-- study              VARCHAR  sweep that it is a point of
-- formulas           VARCHAR  set of formulas: physical
-- execution          VARCHAR  profile of execution_profiles
-- model              VARCHAR  model
-- phase              VARCHAR  training, prefill or decode; for training, the forward and backward
--                             pass of a microbatch with its part of the optimizer's step
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica that are in a stage at once
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- cp                 BIGINT   context-parallel ranks
-- microbatches       BIGINT   microbatches of a training step
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
-- chips              BIGINT   chips of a replica
-- bubble_share       DOUBLE   share of a training step's microbatch slots in which a stage waits
--                             while the pipeline fills and drains (1F1B, Narayanan et al. 2021); in
--                             an engine, other passes fill them
-- step_ms            DOUBLE   training: all microbatches and that wait; else a pass through all
--                             stages
-- chip_tokens_per_s  DOUBLE   new tokens per second and chip, including the wait; in inference with
--                             a batch in every stage
-- bound              VARCHAR  compute, memory or network: the largest time, in this order on a tie
CREATE VIEW phase_roofline AS
SELECT
    s.scenario, s.study, s.formulas, s.execution, s.model, s.phase, s.hardware, s.batch,
    s.seq_len, s.kv_len, s.tp, s.ep, s.dp, s.pp, s.cp, s.microbatches, flop,
    tensor_flop, realizable_flop, weight_bytes, activation_bytes, kv_bytes, temporary_bytes,
    hbm_bytes, net_bytes, intensity_weights, intensity, intensity_total, compute_ms, hbm_ms, net_ms,
    time_ms, serial_ms, mfu, effective_tflops, tflops, tokens_per_s,
    s.tp * s.cp * s.pp AS chips,
    CASE
        WHEN s.phase = 'training' THEN (s.pp - 1) / (s.microbatches * s.virtual_stages + s.pp - 1)
        ELSE 0.0
    END AS bubble_share,
    CASE
        -- The stage also waits while others have their first and last microbatch.
        WHEN s.phase = 'training'
            THEN time_ms * s.microbatches
                + coalesce(slot_ms, time_ms) * (s.pp - 1) / s.virtual_stages
        ELSE time_ms * s.pp
    END AS step_ms,
    tokens_per_s / chips
    * CASE WHEN s.phase = 'training' THEN time_ms * s.microbatches / step_ms ELSE 1 END
        AS chip_tokens_per_s,
    bound
FROM _pass_costs AS r
JOIN _scenario_rows AS s ON s.scenario_no = r.scenario_no;
