-- One row per trace and lane of the profiler's overlap analysis in trace_view.json: the profiler's
-- own sums over the device's tasks.
--
-- key: trace_id, lane
--
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job, NULL if unknown
-- lane      VARCHAR  Computing, Communication, Communication(Not Overlapped) or Free
-- events    BIGINT   intervals
-- sum_us    DOUBLE   their durations, µs
CREATE VIEW overlap_lanes AS
WITH processes AS (
    SELECT trace_id, pid
    FROM events
    WHERE
        lane = 'meta' AND name = 'process_name'
        AND starts_with(args ->> '$.name', 'Overlap Analysis')
)
SELECT
    e.trace_id, traces.rank, e.name AS lane, count(*) AS events, sum(dur_ns) / 1000.0 AS sum_us
FROM events AS e
JOIN processes ON processes.trace_id = e.trace_id AND processes.pid = e.pid
JOIN traces ON traces.trace_id = e.trace_id
WHERE e.ph = 'X'
GROUP BY e.trace_id, traces.rank, e.name;
