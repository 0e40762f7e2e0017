-- One row per trace and step, over its devices: how long it took, and whether it counts. Its time
-- is that of the device work launched from it, see steps; the host's time has its own columns.
--
-- key: trace_id, step_id
--
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- step_id            BIGINT   step, from 0 in time order
-- step_number        BIGINT   number of the step, NULL if the trace gives none
-- step_source        VARCHAR  source of the steps, see the table step_sources
-- work_source        VARCHAR  source of its work, see steps
-- program            VARCHAR  what it ran, see steps
-- requests           BIGINT   requests in it, NULL if unknown
-- tokens             BIGINT   tokens that it computes, NULL if unknown
-- devices            BIGINT   devices with the step
-- host_start_ns      BIGINT   start of its mark on the host, NULL without one, ns
-- host_end_ns        BIGINT   end of that mark, ns
-- host_us            DOUBLE   from that start to that end, µs
-- start_ns           BIGINT   earliest start on a device, ns
-- end_ns             BIGINT   latest end on a device, ns
-- marker_us          DOUBLE   longest duration on a device, dur_us of steps: the time of the step;
--                             in a trace without device operations that of its mark on the host;
--                             NULL for a step that launched nothing, µs
-- reference_mean_us  DOUBLE   mean duration of the devices, µs
-- spread_us          DOUBLE   longest duration less the shortest, µs
-- slowest_device     INTEGER  device with the longest duration
-- ops                BIGINT   operations of all devices in it
-- span_us            DOUBLE   from the start of its first operation to the end of its last, µs
-- busy_us            DOUBLE   union of its operations on a device, mean of its devices, µs
-- period_us          DOUBLE   from the start of its first operation on the stream that computes
--                             most to that of the next step, µs
-- is_warm_up         BOOLEAN  one of the first steps of its program that are left out of figures
-- is_partial         BOOLEAN  first or last step, only partly in the trace
-- is_outlier         BOOLEAN  takes more than 1.5 times the median of its program's counted steps
-- step_class         VARCHAR  typical, light or heavy; NULL for steps left out
-- representative     BOOLEAN  the step that represents its class
CREATE VIEW step_times AS
WITH medians AS (
    SELECT trace_id, program, median(marker_us) AS median_us
    FROM _classed_steps
    GROUP BY trace_id, program
),
busy AS (
    SELECT
        trace_id, step_number, nth,
        avg(compute_ns + communication_ns + memory_ns) / 1000.0 AS busy_us
    FROM _device_steps
    JOIN _step_parts USING (trace_id, device, step_id)
    GROUP BY trace_id, step_number, nth
)
SELECT
    timed.trace_id, rank, timed.step_id, timed.step_number, step_source, work_source,
    timed.program, requests, tokens, devices, host_start_ns, host_end_ns,
    (host_end_ns - host_start_ns) / 1000.0 AS host_us, timed.start_ns, timed.end_ns,
    marker_ns / 1000.0 AS marker_us, reference_mean_us,
    (marker_ns - shortest_ns) / 1000.0 AS spread_us, slowest_device, ops,
    (last_ns - first_ns) / 1000.0 AS span_us, busy_us,
    (lead(lead_ns) OVER (PARTITION BY timed.trace_id ORDER BY timed.step_id) - lead_ns) / 1000.0
        AS period_us,
    is_warm_up, is_partial,
    coalesce(marker_ns / 1000.0 > 1.5 * medians.median_us AND NOT is_partial, FALSE) AS is_outlier,
    classed.step_class,
    coalesce(classes.representative_id = timed.step_id, FALSE) AS representative
FROM _timed_steps AS timed
JOIN traces USING (trace_id)
LEFT JOIN busy
    ON busy.trace_id = timed.trace_id AND busy.nth = timed.nth
    AND busy.step_number IS NOT DISTINCT FROM timed.step_number
LEFT JOIN medians
    ON medians.trace_id = timed.trace_id AND medians.program IS NOT DISTINCT FROM timed.program
LEFT JOIN _classed_steps AS classed
    ON classed.trace_id = timed.trace_id AND classed.step_id = timed.step_id
LEFT JOIN _class_steps AS classes
    ON classes.trace_id = timed.trace_id AND classes.step_class = classed.step_class
    AND classes.program IS NOT DISTINCT FROM timed.program;
