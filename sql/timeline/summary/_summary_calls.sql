-- One row per run, kind of collective and way its calls were matched: means over the calls that the
-- lake has from several devices.
-- run                VARCHAR  run, or the trace where it is in none
-- kind               VARCHAR  kind of collective
-- matched_by         VARCHAR  how the parts of a call were matched
-- participants       BIGINT   devices of a call
-- calls              BIGINT   calls
-- skew_us            DOUBLE   mean time from the first device's start to the last one's; NULL, as
--                             the next, where the clocks cannot be compared
-- max_skew_us        DOUBLE   longest such time
-- total_skew_us      DOUBLE   sum of such times
-- transfer_us        DOUBLE   mean time from there to the end
-- bus_gbps           DOUBLE   mean bandwidth of the links in it, GB/s
-- clock_residual_us  DOUBLE   largest uncertainty of the clocks
CREATE VIEW _summary_calls AS
SELECT
    run, kind, matched_by, participants, count(*) AS calls, avg(skew_us) AS skew_us,
    max(skew_us) AS max_skew_us, sum(skew_us) AS total_skew_us, avg(transfer_us) AS transfer_us,
    avg(bus_gbps) AS bus_gbps, max(clock_residual_us) AS clock_residual_us
FROM collective_calls
GROUP BY run, kind, matched_by, participants;
