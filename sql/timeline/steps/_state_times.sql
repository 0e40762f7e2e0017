-- One row per device and combination of class and activity: its time, summed over device_states.
--
-- stored: per trace
--
-- trace_id              VARCHAR  trace
-- device                INTEGER  device
-- class                 VARCHAR  compute, communication, copy, dma, wait or idle
-- communication_active  BOOLEAN  while a communication operation ran
-- memory_active         BOOLEAN  while a copy, a fill or a transfer ran
-- total_ns              BIGINT   time, ns
-- start_ns              BIGINT   first moment of it, ns
-- end_ns                BIGINT   last moment of it, ns
CREATE VIEW _state_times AS
SELECT
    trace_id, device, class, communication_active, memory_active,
    CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns, min(start_ns) AS start_ns,
    max(end_ns) AS end_ns
FROM device_states
GROUP BY trace_id, device, class, communication_active, memory_active;
