-- One row per trace, region of its program and phase before which its devices were idle.
-- trace_id   VARCHAR  trace
-- region     VARCHAR  region
-- phase      VARCHAR  phase of the program
-- gaps       HUGEINT  gaps
-- sum_us     DOUBLE   time, summed over devices
-- mean_us    DOUBLE   mean time of a gap
-- share_pct  DOUBLE   share of the time of all devices
-- payloads   VARCHAR  operations that the gaps ended with, where most time went
CREATE VIEW _summary_gap_regions AS
SELECT
    trace_id, region, phase, sum(gaps) AS gaps, sum(sum_us) AS sum_us,
    sum(sum_us) / sum(gaps) AS mean_us, sum(window_pct) AS share_pct,
    arg_max(payloads, (sum_us, payloads)) AS payloads
FROM gap_regions
GROUP BY trace_id, region, phase;
