-- One row per reason to doubt that the points of a history show one program.
--
-- `FROM history_doubts('run', traces)` with an attribute of trace_labels, as in history_points, and
-- a list of traces.
--
-- question  VARCHAR  model, phase, hardware, devices or basis: it has several known values; work:
--                    most of a point's time is in operations that the previous point does not run,
--                    operators by their modules, else kernels
-- message   VARCHAR  what was found, with numbers of points
CREATE MACRO history_doubts(of_tag, of_traces) AS TABLE
WITH points AS (
    SELECT trace_id, run, recorded_at FROM _history_members(of_tag, of_traces)
),
known AS (
    SELECT points.run, facts.question, facts.place, facts.value
    FROM points
    JOIN trace_programs AS programs ON programs.trace_id = points.trace_id
    CROSS JOIN LATERAL (
        VALUES
            (1, 'model', programs.model), (2, 'phase', programs.phase),
            (3, 'hardware', programs.hardware), (4, 'devices', CAST(programs.devices AS VARCHAR)),
            (5, 'basis', programs.basis)
    ) AS facts (place, question, value)
    WHERE facts.value IS NOT NULL
),
counted AS (
    SELECT place, question, value, count(DISTINCT run) AS runs
    FROM known
    GROUP BY place, question, value
),
several AS (
    SELECT
        place, question,
        array_to_string(list(format('{} ({})', value, runs) ORDER BY runs DESC, value)[:4], ', ')
        || if(count(*) > 4, format(' and {} more', count(*) - 4), '') AS message
    FROM counted
    GROUP BY place, question
    HAVING count(*) > 1
),
works AS (
    SELECT
        points.run,
        -- If modules have names, kernels may differ: libraries change.
        if(module = '', concat_ws(' ', operator, kernel_name), concat_ws(' ', module, operator))
            AS work,
        sum(costs.exclusive_ns) AS work_ns
    FROM points
    JOIN step_costs AS costs ON costs.trace_id = points.trace_id
    WHERE costs.part <> 'idle'
    GROUP BY ALL
),
ordered AS (
    SELECT run, lag(run) OVER (ORDER BY min(recorded_at), run) AS before
    FROM points
    GROUP BY run
),
shared AS (
    SELECT
        ordered.run, ordered.before,
        100.0 * coalesce(sum(own.work_ns) FILTER (other.work IS NOT NULL), 0)
        / nullif(sum(own.work_ns), 0) AS shared_pct
    FROM ordered
    JOIN works AS own ON own.run = ordered.run
    LEFT JOIN works AS other ON other.run = ordered.before AND other.work = own.work
    WHERE ordered.before IS NOT NULL
    GROUP BY ordered.run, ordered.before
)
SELECT question, message
FROM (
    SELECT place, question, message FROM several
    UNION ALL
    SELECT
        6, 'work',
        format(
            'at {} of {} points less than half of the work is also in the point before: at {} '
            '{:.0f} % is in {}',
            count(*) FILTER (shared_pct < 50), count(*) + 1, arg_min(run, (shared_pct, run)),
            min(shared_pct), arg_min(before, (shared_pct, run))
        )
    FROM shared
    HAVING count(*) FILTER (shared_pct < 50) > 0
)
ORDER BY place;
