-- The gaps of a device take no longer than it is idle, and none is shorter than 0.
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device that breaks the law
CREATE VIEW _gaps_fit_in_the_idle_time AS
SELECT time_breakdown.trace_id, time_breakdown.rank, time_breakdown.device
FROM time_breakdown
JOIN (
    SELECT trace_id, device, sum(gap_us) AS gap_us, min(gap_us) AS shortest_us
    FROM gaps
    GROUP BY trace_id, device
) AS summed
    ON summed.trace_id = time_breakdown.trace_id
    AND summed.device = time_breakdown.device
WHERE summed.gap_us > time_breakdown.idle_us + 0.0005 OR summed.shortest_us < 0;
