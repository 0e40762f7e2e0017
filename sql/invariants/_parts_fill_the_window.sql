-- The parts of a device's time add up to its window, and no part is below 0.
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device that breaks the law
CREATE VIEW _parts_fill_the_window AS
SELECT trace_id, rank, device
FROM time_breakdown
WHERE
    abs(compute_us + exposed_communication_us + exposed_memory_us + idle_us - window_us) > 0.0005
    OR least(exposed_communication_us, hidden_communication_us, exposed_memory_us, idle_us) < 0
    OR busy_us > window_us + 0.0005 OR coalesce(other_idle_us, 0) < -0.0005;
