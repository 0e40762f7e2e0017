-- One row per scenario of a model report: what a pass costs one rank, and what it needs of its
-- memory.
--
-- scenario           VARCHAR  scenario
-- study              VARCHAR  study of the report
-- execution          VARCHAR  profile of execution_profiles
-- phase              VARCHAR  training, prefill or decode
-- hardware           VARCHAR  chip
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- tp                 BIGINT   degree of tensor parallelism
-- ep                 BIGINT   degree of expert parallelism
-- dp                 BIGINT   data-parallel replicas
-- pp                 BIGINT   pipeline stages
-- flop               DOUBLE   FLOP
-- realizable_flop    DOUBLE   FLOP at full speed that take as long
-- weight_bytes       DOUBLE   weights read
-- activation_bytes   DOUBLE   activations read and written
-- kv_bytes           DOUBLE   KV cache read and written
-- temporary_bytes    DOUBLE   scores of an attention that leave the chip
-- hbm_bytes          DOUBLE   bytes in memory
-- net_bytes          DOUBLE   bytes sent to other chips
-- intensity          DOUBLE   FLOP per byte of memory
-- compute_ms         DOUBLE   minimum time of matrix or vector units, ms
-- hbm_ms             DOUBLE   minimum time of the memory, ms
-- net_ms             DOUBLE   minimum time of the network, ms
-- time_ms            DOUBLE   the largest of the three, ms
-- serial_ms          DOUBLE   one operator after the other, ms
-- mfu                DOUBLE   time at the peak over time_ms, a fraction
-- tflops             DOUBLE   FLOP over the time, TFLOP/s
-- tokens_per_s       DOUBLE   new tokens of a replica per second
-- bound              VARCHAR  compute, memory or network
-- fits               BOOLEAN  whether what is held fits the memory
-- max_batch          BIGINT   sequences that fit at most
-- held_weight_bytes  DOUBLE   weights held
-- held_kv_bytes      DOUBLE   KV cache held
-- total_bytes        DOUBLE   bytes held
-- budget_bytes       DOUBLE   bytes that a chip has for them
-- tokens_per_chip_s  DOUBLE   new tokens per second and chip
-- is_main            BOOLEAN  it is of the main profile, which the figures show
-- is_base            BOOLEAN  it is of the base profile, shown for comparison
-- phase_place        INTEGER  place of the phase
-- profile_place      INTEGER  place of the profile in the report
-- chip_place         INTEGER  place of the chip in the report
CREATE VIEW _report_points AS
SELECT
    p.scenario, p.study, p.execution, p.phase, p.hardware, p.batch, p.seq_len, p.kv_len, p.tp, p.ep,
    p.dp, p.pp, p.flop, p.realizable_flop, p.weight_bytes, p.activation_bytes, p.kv_bytes,
    p.temporary_bytes, p.hbm_bytes, p.net_bytes, p.intensity, p.compute_ms, p.hbm_ms, p.net_ms,
    p.time_ms, p.serial_ms, p.mfu, p.tflops, p.tokens_per_s, p.bound, m.fits, m.max_batch,
    m.weight_bytes AS held_weight_bytes, m.kv_bytes AS held_kv_bytes, m.total_bytes, m.budget_bytes,
    p.tokens_per_s / (p.tp * p.pp) AS tokens_per_chip_s,
    p.execution = w.main AS is_main,
    p.execution = w.base AS is_base,
    list_position(['training', 'prefill', 'decode'], p.phase) AS phase_place,
    list_position(w.executions, p.execution) AS profile_place,
    list_position(w.chips, p.hardware) AS chip_place
FROM phase_roofline AS p
JOIN memory_per_gpu AS m USING (scenario)
CROSS JOIN _report_workload AS w
WHERE starts_with(p.study, 'report ');
