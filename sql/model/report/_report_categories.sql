-- One row per phase, profile and category of work at the anchor of a model report.
--
-- phase            VARCHAR  training, prefill or decode
-- execution        VARCHAR  profile of execution_profiles
-- category         VARCHAR  category of work
-- is_main          BOOLEAN  it is of the main profile, which the figures show
-- is_base          BOOLEAN  it is of the base profile, shown for comparison
-- flop             DOUBLE   FLOP
-- hbm_bytes        DOUBLE   bytes in memory
-- net_bytes        DOUBLE   bytes sent to other chips
-- serial_ms        DOUBLE   one operator after the other, ms
-- intensity        DOUBLE   FLOP per byte of memory
-- tflops           DOUBLE   FLOP over the time, TFLOP/s
-- flop_pct         DOUBLE   share of the FLOP of phase and profile, a fraction
-- bytes_pct        DOUBLE   share of the bytes in memory, a fraction
-- time_pct         DOUBLE   share of serial_ms, a fraction
-- category_ms      DOUBLE   serial_ms of the category in all phases and profiles, ms
-- phase_place      INTEGER  place of the phase
CREATE VIEW _report_categories AS
WITH sums AS (
    SELECT
        phase, execution, category, is_main, is_base,
        sum(flop) AS flop,
        sum(hbm_bytes) AS hbm_bytes,
        sum(net_bytes) AS net_bytes,
        sum(serial_ms) AS serial_ms,
        greatest(sum(compute_ms), sum(hbm_ms), sum(net_ms)) AS longest_ms
    FROM _report_modules
    GROUP BY ALL
)
SELECT
    phase, execution, category, is_main, is_base, flop, hbm_bytes, net_bytes, serial_ms,
    flop / nullif(hbm_bytes, 0) AS intensity,
    flop / nullif(longest_ms, 0) / 1e9 AS tflops,
    flop / nullif(sum(flop) OVER of_phase, 0) AS flop_pct,
    hbm_bytes / nullif(sum(hbm_bytes) OVER of_phase, 0) AS bytes_pct,
    serial_ms / nullif(sum(serial_ms) OVER of_phase, 0) AS time_pct,
    sum(serial_ms) OVER (PARTITION BY category) AS category_ms,
    list_position(['training', 'prefill', 'decode'], phase) AS phase_place
FROM sums
WINDOW of_phase AS (PARTITION BY phase, execution);
