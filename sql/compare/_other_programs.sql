-- One row per trace and program of its steady steps other than the one that the trace is compared
-- by.
--
-- stored: per trace
--
-- trace_id  VARCHAR   trace
-- program   VARCHAR   program, see steps; unnamed if unknown
-- steps     BIGINT    steady steps that have work
-- time_pct  DOUBLE    share of the steady steps' time that they take, %
-- step_us   DOUBLE    time of such a step, on its slowest device; median of the steps, µs
-- spread    DOUBLE[]  how far that varies by chance, µs (_steps_spread); NULL below three steps
-- requests  DOUBLE    mean number of requests, NULL if unknown
-- tokens    DOUBLE    mean number of tokens, NULL if unknown
CREATE VIEW _other_programs AS
WITH others AS (
    -- Steps of no main program have none that could be another.
    SELECT own.trace_id, own.program, own.requests, own.tokens
    FROM step_summary AS own
    JOIN comparison_bases AS bases ON bases.trace_id = own.trace_id
    WHERE NOT is_main AND scope = 'steady' AND own.steps > own.without_work AND bases.steps > 0
),
totals AS (
    SELECT trace_id, sum(mean_us * (steps - without_work)) AS total_us
    FROM step_summary
    WHERE scope = 'steady' AND steps > without_work
    GROUP BY trace_id
),
by_step AS (
    SELECT others.trace_id, others.program, requests, tokens, step_id, max(dur_us) AS dur_us
    FROM others
    JOIN step_states AS states
        ON states.trace_id = others.trace_id
        AND states.program IS NOT DISTINCT FROM others.program
    WHERE is_steady AND device >= 0 AND dur_us > 0
    GROUP BY others.trace_id, others.program, requests, tokens, step_id
)
SELECT
    trace_id, coalesce(program, 'unnamed') AS program, count(*) AS steps,
    100 * sum(dur_us) / any_value(total_us) AS time_pct, median(dur_us) AS step_us,
    _steps_spread(dur_us, 'median') AS spread,
    any_value(requests) AS requests, any_value(tokens) AS tokens
FROM by_step
JOIN totals USING (trace_id)
GROUP BY trace_id, program;
