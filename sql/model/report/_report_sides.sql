-- One row per workload of a model report's anchor and sweeps, both profiles side by side.
--
-- study              VARCHAR  study of the report
-- phase              VARCHAR  training, prefill or decode
-- batch              BIGINT   sequences of a replica
-- seq_len            BIGINT   new tokens of each
-- kv_len             BIGINT   cached tokens of each
-- phase_place        INTEGER  place of the phase
-- base_intensity     DOUBLE   intensity by the base profile
-- main_intensity     DOUBLE   intensity by the main profile
-- base_ms            DOUBLE   time by the base profile, ms
-- main_ms            DOUBLE   time by the main profile, ms
-- base_tflops        DOUBLE   TFLOP/s by the base profile
-- main_tflops        DOUBLE   TFLOP/s by the main profile
-- base_tokens_per_s  DOUBLE   tokens per second by the base profile
-- main_tokens_per_s  DOUBLE   tokens per second by the main profile
-- base_bound         VARCHAR  bound by the base profile
-- main_bound         VARCHAR  bound by the main profile
-- fits               BOOLEAN  whether what is held fits the memory
CREATE VIEW _report_sides AS
SELECT
    study, phase, batch, seq_len, kv_len, any_value(phase_place) AS phase_place,
    max(intensity) FILTER (is_base) AS base_intensity,
    max(intensity) FILTER (is_main) AS main_intensity,
    max(time_ms) FILTER (is_base) AS base_ms,
    max(time_ms) FILTER (is_main) AS main_ms,
    max(tflops) FILTER (is_base) AS base_tflops,
    max(tflops) FILTER (is_main) AS main_tflops,
    max(tokens_per_s) FILTER (is_base) AS base_tokens_per_s,
    max(tokens_per_s) FILTER (is_main) AS main_tokens_per_s,
    max(bound) FILTER (is_base) AS base_bound,
    max(bound) FILTER (is_main) AS main_bound,
    bool_and(fits) AS fits
FROM _report_points
WHERE study IN ('report anchor', 'report batch', 'report prompt')
GROUP BY study, phase, batch, seq_len, kv_len;
