-- One row per step number as the reference's profile summary finds steps: on lines named Steps,
-- else in the host's annotations named train. All devices and hosts are averaged together. Provided
-- for comparison with step_times, which is the relation to use.
--
-- `FROM compat_steps(trace_id, warm-up)`: steps numbered below warm-up are not steady; the
-- reference's default is 5.
--
-- trace_id     VARCHAR  trace
-- step_number  BIGINT   number
-- dur_us       DOUBLE   mean duration of the events of that number, µs
-- is_steady    BOOLEAN  the number is not below the warm-up
CREATE MACRO compat_steps(of_trace, of_warm_up) AS TABLE
WITH line_steps AS (
    SELECT TRY_CAST(name AS BIGINT) AS step_number, end_ns - start_ns AS dur_ns
    FROM _compat_events
    WHERE
        trace_id = of_trace AND thread = 'Steps' AND starts_with(process, '/device:')
        AND regexp_full_match(trim(name), '[+-]?\d+') AND end_ns > start_ns
),
host_steps AS (
    SELECT TRY_CAST(args ->> '$.step_num' AS BIGINT) AS step_number, events.dur_ns
    FROM events
    JOIN lines USING (trace_id, pid, tid)
    WHERE
        events.trace_id = of_trace AND events.lane = 'host' AND events.name = 'train'
        AND events.dur_ns > 0 AND role = 'host'
),
found AS (
    SELECT step_number, dur_ns FROM line_steps
    UNION ALL
    SELECT step_number, dur_ns
    FROM host_steps
    WHERE NOT EXISTS (SELECT 1 FROM line_steps)
)
SELECT
    of_trace AS trace_id, step_number, avg(dur_ns) / 1000 AS dur_us,
    step_number >= of_warm_up AS is_steady
FROM found
WHERE step_number IS NOT NULL
GROUP BY step_number;
