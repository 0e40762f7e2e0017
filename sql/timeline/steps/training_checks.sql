-- One row per trace with kernels: whether it shows training steps in which no layers were found, or
-- few. They are few if none has a direction and all have less than half of the device's busy time.
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   share of the time in backward and optimizer, 0 where layers are found and
--                     not few
-- unit       VARCHAR  percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, and why there are no layers, or how little they hold
CREATE VIEW training_checks AS
WITH phases AS (
    SELECT trace_id, phase, sum(busy_us) AS busy_us
    FROM training_phases
    GROUP BY trace_id, phase
),
steps AS (
    SELECT
        trace_id,
        100 * sum(busy_us) FILTER (phase IN ('backward', 'optimizer')) / nullif(sum(busy_us), 0)
            AS trained_pct,
        string_agg(
            format('{} {:.1f} us', phase, busy_us), ', '
            ORDER BY list_position(['forward', 'backward', 'optimizer', 'other'], phase)
        ) AS times
    FROM phases
    GROUP BY trace_id
),
attentions AS (
    SELECT k.trace_id, bool_or(t.phase = 'backward') AS is_backward
    FROM kernels AS k
    JOIN anchor_roles AS r ON r.category = k.category AND r.role = 'inside'
    LEFT JOIN _training_kernels AS t ON t.trace_id = k.trace_id AND t.kernel_id = k.kernel_id
    GROUP BY k.trace_id
),
layered AS (
    SELECT
        trace_id, bool_or(part = 'layers' AND direction IS NOT NULL) AS is_directed,
        100 * sum(busy_us) FILTER (part = 'layers') / nullif(sum(busy_us), 0) AS layers_pct
    FROM pass_coverage
    GROUP BY trace_id
),
measured AS (
    SELECT
        t.trace_id, s.times,
        CASE
            WHEN l.layers_pct IS NULL OR (l.layers_pct < 50 AND NOT coalesce(l.is_directed, FALSE))
                THEN coalesce(s.trained_pct, 0)
            ELSE 0
        END AS training_step,
        CASE
            WHEN l.layers_pct IS NOT NULL
                THEN format(
                    'only {:.1f} % of the device''s busy time is in layers, and no layer is '
                    || 'known to run backward', l.layers_pct
                )
            WHEN a.trace_id IS NULL
                THEN 'no layers are found because no kernel of attention marks them, and no '
                    || 'modules or annotations show them'
            WHEN a.is_backward
                THEN 'no layers are found because attention runs forward and backward, and no '
                    || 'modules or annotations show them'
            ELSE 'no layers are found because the kernels show no whole pass, and no modules or '
                || 'annotations show them'
        END AS reason
    FROM (SELECT DISTINCT trace_id FROM kernels) AS t
    LEFT JOIN steps AS s ON s.trace_id = t.trace_id
    LEFT JOIN layered AS l ON l.trace_id = t.trace_id
    LEFT JOIN attentions AS a ON a.trace_id = t.trace_id
),
measures AS (
    SELECT trace_id, training_step FROM measured
)
SELECT
    trace_id, "check", severity, value, unit, threshold,
    CASE
        WHEN severity = 'ok' THEN message
        ELSE format('{}: {}; {}', message, times, reason)
    END AS message
FROM judged_checks(measures)
JOIN measured USING (trace_id);
