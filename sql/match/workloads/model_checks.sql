-- One row per check and trace whose model can be checked against it. Can it be the trace's model?
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW model_checks AS
WITH measured AS (
    SELECT
        trace_id, any_value(model) AS model, count(*) FILTER (NOT fits) AS model_differs,
        string_agg(
            format('{} {}, not {}', property, seen, expected)
            || coalesce(format(' ({})', note), ''), '; ' ORDER BY property
        ) FILTER (NOT fits) AS differing
    FROM model_fit
    GROUP BY trace_id
),
measures AS (
    SELECT trace_id, model_differs FROM measured
),
fitting AS (
    SELECT trace_id, string_agg(model, ', ' ORDER BY fitting DESC, model) AS models
    FROM model_candidates
    WHERE fits
    GROUP BY trace_id
)
SELECT
    trace_id, "check", severity, value, unit, threshold,
    CASE
        WHEN differing IS NULL THEN message
        ELSE format(
            '{} {}: {}. {}', message, measured.model, differing,
            coalesce(
                'Published models that fit: ' || fitting.models || '.',
                'No published model of the table models fits.'
            )
        )
    END AS message
FROM judged_checks(measures)
JOIN measured USING (trace_id)
LEFT JOIN fitting USING (trace_id);
