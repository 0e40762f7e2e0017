-- One row per segment of a device's time with the time spent in each state before it.
--
-- trace_id          VARCHAR  trace
-- device            INTEGER  device
-- start_ns          BIGINT   start of the segment, ns
-- end_ns            BIGINT   its end, ns
-- state             VARCHAR  what the device does in it
-- compute_ns        BIGINT   time in state compute before it, ns
-- communication_ns  BIGINT   time in state communication before it, ns
-- memory_ns         BIGINT   time in state memory before it, ns
-- wait_ns           BIGINT   time in state wait before it, ns
-- idle_ns           BIGINT   time in state idle before it, ns
CREATE VIEW _state_sums AS
WITH segments AS (
    SELECT trace_id, device, start_ns, end_ns, state, end_ns - start_ns AS dur_ns
    FROM device_states
)
SELECT
    trace_id, device, start_ns, end_ns, state,
    CAST(coalesce(sum(dur_ns) FILTER (state = 'compute') OVER before, 0) AS BIGINT) AS compute_ns,
    CAST(coalesce(sum(dur_ns) FILTER (state = 'communication') OVER before, 0) AS BIGINT)
        AS communication_ns,
    CAST(coalesce(sum(dur_ns) FILTER (state = 'memory') OVER before, 0) AS BIGINT) AS memory_ns,
    CAST(coalesce(sum(dur_ns) FILTER (state = 'wait') OVER before, 0) AS BIGINT) AS wait_ns,
    CAST(coalesce(sum(dur_ns) FILTER (state = 'idle') OVER before, 0) AS BIGINT) AS idle_ns
FROM segments
WINDOW before AS (
    PARTITION BY trace_id, device ORDER BY start_ns
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
);
