-- One row per trace: what it is, how long a step takes, where the time goes, and what to do first.
-- Reports open with it; reasons to doubt it are in health.
--
-- key: trace_id
--
-- trace_id                   VARCHAR  trace
-- trace                      VARCHAR  its name
-- ingested_at                TIMESTAMP  when it came into the lake
-- model                      VARCHAR  the trace's model; NULL if none is set
-- device_name                VARCHAR  name of the device, as the profiler has it
-- hardware                   VARCHAR  chip, see the table hardware
-- devices                    BIGINT   devices that ran something
-- phase                      VARCHAR  prefill, decode or training: the stage of passes with the
--                                     most time; NULL if unknown
-- passes                     BIGINT   passes found
-- steps                      BIGINT   steady steps of the program with the most time; all its steps
--                                     if none is steady
-- step_source                VARCHAR  what marks them, see step_sources; NULL without steps, like
--                                     the columns that follow
-- step_median_us             DOUBLE   median time of such a step on the device, or on the host if
--                                     devices is 0, µs
-- step_p90_us                DOUBLE   90th percentile, µs
-- step_period_us             DOUBLE   median period_us of these steps; NULL for a single step
-- steps_overlap              BOOLEAN  the next step begins before a step ends: the median of
--                                     period_us over dur_us of the same step is below 0.95; NULL
--                                     for a single step
-- step_tokens                DOUBLE   mean number of tokens of a step, NULL if unknown
-- window_us                  DOUBLE   from the first operation to the last on any device, µs
-- compute_pct                DOUBLE   share of the time of all devices in which something computes
-- exposed_communication_pct  DOUBLE   the same, only communication
-- exposed_memory_pct         DOUBLE   the same, only copies
-- host_bound_pct             DOUBLE   the same, idle for lack of launches; NULL if the trace shows
--                                     no launches
-- other_idle_pct             DOUBLE   the same, idle or waiting for another reason
-- finding                    VARCHAR  what to do first: the finding with the most to gain, the
--                                     narrower of two with nearly the same; NULL if there is none
-- severity                   VARCHAR  high or medium
-- title                      VARCHAR  what was found
-- evidence                   VARCHAR  the figures in words
-- gain_us                    DOUBLE   most device time to gain, over all devices, µs
-- gain_pct                   DOUBLE   the same over the time of all devices
-- advice                     VARCHAR  what to try first
-- coverage_pct               DOUBLE   share of the devices' busy time in layers that were found
-- rejected_count             BIGINT   events that could not be read
-- truncated                  BOOLEAN  the file ends before its end
CREATE VIEW headlines AS
WITH main_steps AS (
    SELECT trace_id, scope, steps, step_source, program, median_us, p90_us, tokens
    FROM step_summary
    WHERE is_main AND median_us IS NOT NULL
    QUALIFY 1 = row_number() OVER (PARTITION BY trace_id ORDER BY scope = 'steady' DESC)
),
periods AS (
    -- Steps of several lengths may take turns: medians of periods and of durations do not compare.
    SELECT
        main_steps.trace_id, median(steps.period_us) AS period_us,
        median(steps.period_us / nullif(steps.dur_us, 0)) < 0.95 AS steps_overlap
    FROM main_steps
    JOIN steps
        ON steps.trace_id = main_steps.trace_id
        AND steps.program IS NOT DISTINCT FROM main_steps.program
    WHERE NOT steps.is_partial AND (NOT steps.is_warm_up OR main_steps.scope <> 'steady')
    GROUP BY main_steps.trace_id
),
times AS (
    SELECT
        trace_id, count(*) AS devices, max(window_us) AS window_us, sum(window_us) AS whole_us,
        sum(compute_us) AS compute_us, sum(exposed_communication_us) AS communication_us,
        sum(exposed_memory_us) AS memory_us, sum(idle_us) AS idle_us,
        sum(host_bound_idle_us) AS host_bound_us
    FROM time_breakdown
    GROUP BY trace_id
),
-- The narrower finding is more specific: a cause among those that save nearly the same time.
firsts AS (
    SELECT trace_id, finding, severity, title, evidence, gain_us, gain_pct, suggestions
    FROM (
        SELECT
            trace_id, finding, severity, title, evidence, gain_us, gain_pct, suggestions, priority,
            max(gain_us) OVER (PARTITION BY trace_id) AS most_us
        FROM findings
        WHERE severity IN ('high', 'medium') AND gain_us > 0
    )
    QUALIFY 1 = row_number() OVER (
        PARTITION BY trace_id ORDER BY gain_us >= 0.9 * most_us DESC, priority DESC
    )
),
covered AS (
    SELECT
        trace_id, 100 * sum(busy_us) FILTER (part = 'layers') / nullif(sum(busy_us), 0)
            AS coverage_pct
    FROM pass_coverage
    GROUP BY trace_id
)
SELECT
    t.trace_id, t.trace, t.ingested_at, t.model, t.device_name, t.hardware,
    coalesce(times.devices, 0) AS devices,
    programs.phase, programs.passes,
    coalesce(s.steps, 0) AS steps, s.step_source, s.median_us AS step_median_us,
    s.p90_us AS step_p90_us, periods.period_us AS step_period_us, periods.steps_overlap,
    s.tokens AS step_tokens, times.window_us,
    100 * times.compute_us / times.whole_us AS compute_pct,
    100 * times.communication_us / times.whole_us AS exposed_communication_pct,
    100 * times.memory_us / times.whole_us AS exposed_memory_pct,
    100 * times.host_bound_us / times.whole_us AS host_bound_pct,
    100 * (times.idle_us - coalesce(times.host_bound_us, 0)) / times.whole_us AS other_idle_pct,
    f.finding, f.severity, f.title, f.evidence, f.gain_us, f.gain_pct, f.suggestions[1] AS advice,
    covered.coverage_pct, t.rejected_count, t.truncated
FROM traces AS t
JOIN trace_programs AS programs ON programs.trace_id = t.trace_id
LEFT JOIN main_steps AS s ON s.trace_id = t.trace_id
LEFT JOIN periods ON periods.trace_id = t.trace_id
LEFT JOIN times ON times.trace_id = t.trace_id
LEFT JOIN firsts AS f ON f.trace_id = t.trace_id
LEFT JOIN covered ON covered.trace_id = t.trace_id;
