-- One row per run and device that takes part in its collectives: how often it arrives last.
-- run                VARCHAR  run, or the trace where it is in none
-- trace              VARCHAR  name of the device's trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- calls              BIGINT   calls
-- last_calls         BIGINT   of these, calls to which it arrived last
-- last_pct           DOUBLE   their share
-- expected_pct       DOUBLE   the share if all arrived last equally often
-- mean_late_us       DOUBLE   mean time that it arrives after the one before it, over those calls
-- caused_us          DOUBLE   time that the others waited for it alone, see stragglers
-- waiting_us         DOUBLE   time that it waited for others
-- clock_residual_us  DOUBLE   largest uncertainty of the clocks
CREATE VIEW _summary_stragglers AS
SELECT
    s.run, t.trace, s.rank, s.device, s.calls, s.last_calls, s.last_pct, s.expected_pct,
    s.mean_late_us, s.caused_us, s.waiting_us, s.clock_residual_us
FROM stragglers AS s
JOIN traces AS t ON t.trace_id = s.trace_id;
