-- One row per trace and part of a step that gates a change by itself: a part that is a tenth of the
-- step can get much slower while the step hardly changes.
--
-- stored: per trace
--
-- trace_id   VARCHAR   trace
-- metric     VARCHAR   operation, family or idle
-- part       VARCHAR   name of the operation or of the family; idle
-- value      DOUBLE    time on one device in a steady step, or in the whole trace if it has none;
--                      median of the steps, µs
-- spread     DOUBLE[]  how far it varies by chance, µs, from the steps (_steps_spread); NULL below
--                      three steps
-- whole      DOUBLE    what a part of that kind is part of: for idle time the step; for operations
--                      and families the time in it in which any of them runs, which what others
--                      hide does not lengthen; median of the steps, µs
CREATE VIEW _gate_parts AS
WITH times AS (
    SELECT trace_id, 'operation' AS metric, step_id, op AS part, steps, sum(self_us) AS us
    FROM step_op_times
    GROUP BY trace_id, step_id, op, steps
    UNION ALL
    SELECT trace_id, 'family', step_id, family, steps, sum(self_us)
    FROM step_op_times
    GROUP BY trace_id, step_id, family, steps
),
padded AS (
    -- An operation takes no time in a step that lacks it.
    SELECT
        trace_id, metric, part, unnest(list_concat(
            list(us), list_resize([]::DOUBLE[], greatest(any_value(steps) - count(*), 0), 0.0)
        )) AS us
    FROM times
    GROUP BY trace_id, metric, part
),
device_steps AS (
    -- Work of other steps in the meantime is not idle time.
    SELECT trace_id, step_id, avg(idle_us - other_us + wait_us) AS idle_us,
        avg(busy_us) AS busy_us, avg(dur_us) AS dur_us
    FROM step_states
    JOIN comparison_bases AS bases USING (trace_id)
    WHERE
        is_steady AND device IS NOT NULL AND dur_us > 0
        AND bases.program IS NOT DISTINCT FROM step_states.program
    GROUP BY trace_id, step_id
    UNION ALL
    SELECT trace_id, 0, avg(idle_us), avg(busy_us), avg(window_us)
    FROM time_breakdown
    JOIN comparison_bases USING (trace_id)
    WHERE steps = 0
    GROUP BY trace_id
),
wholes AS (
    SELECT trace_id, median(busy_us) AS busy_us FROM device_steps GROUP BY trace_id
)
SELECT
    trace_id, metric, part, median(us) AS value, _steps_spread(us, 'median') AS spread,
    any_value(busy_us) AS whole
FROM padded
JOIN wholes USING (trace_id)
GROUP BY trace_id, metric, part
UNION ALL
SELECT
    trace_id, 'idle', 'idle', median(idle_us), _steps_spread(idle_us, 'median'), median(dur_us)
FROM device_steps
GROUP BY trace_id;
