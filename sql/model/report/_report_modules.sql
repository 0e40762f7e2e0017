-- One row per phase, profile and module at the anchor of a model report: its work.
--
-- phase             VARCHAR  training, prefill or decode
-- execution         VARCHAR  profile of execution_profiles
-- module            VARCHAR  module
-- category          VARCHAR  category of work
-- flop              DOUBLE   FLOP
-- weight_bytes      DOUBLE   weights read
-- activation_bytes  DOUBLE   activations read and written
-- kv_bytes          DOUBLE   KV cache read and written
-- hbm_bytes         DOUBLE   bytes in memory
-- net_bytes         DOUBLE   bytes sent to other chips
-- intensity         DOUBLE   FLOP per byte of memory
-- compute_ms        DOUBLE   minimum time of matrix or vector units, ms
-- hbm_ms            DOUBLE   minimum time of the memory, ms
-- net_ms            DOUBLE   minimum time of the network, ms
-- time_ms           DOUBLE   the largest of the three, ms
-- serial_ms         DOUBLE   one operator after the other, ms
-- bound             VARCHAR  compute, memory or network
-- is_main           BOOLEAN  it is of the main profile, which the figures show
-- is_base           BOOLEAN  it is of the base profile, shown for comparison
CREATE VIEW _report_modules AS
SELECT
    m.phase, m.execution, m.module, m.category, m.flop, m.weight_bytes, m.activation_bytes,
    m.kv_bytes, m.hbm_bytes, m.net_bytes, m.intensity, m.compute_ms, m.hbm_ms, m.net_ms, m.time_ms,
    m.serial_ms, m.bound,
    m.execution = w.main AS is_main,
    m.execution = w.base AS is_base
FROM module_roofline AS m
CROSS JOIN _report_workload AS w
WHERE m.study = 'report anchor';
