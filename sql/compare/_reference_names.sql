-- One row per distinct kernel name of a trace with the category that the reference analyser's rules
-- give it: the first that fits, those of the trace's profile before those of all.
--
-- `FROM _reference_names(trace_id)`
--
-- name      VARCHAR  full name
-- category  VARCHAR  category by reference_rules, other where none fits
CREATE MACRO _reference_names(of_trace) AS TABLE
WITH names AS (
    SELECT DISTINCT name FROM kernels WHERE trace_id = of_trace
),
rules AS (
    SELECT profile, place, category, needle, fold_case
    FROM reference_rules
    WHERE profile = 'any' OR profile = (SELECT profile FROM traces WHERE trace_id = of_trace)
)
SELECT
    names.name,
    coalesce(
        arg_min(r.category, (CASE WHEN r.profile = 'any' THEN 1 ELSE 0 END, r.place)), 'other'
    ) AS category
FROM names
LEFT JOIN rules AS r
    ON contains(CASE WHEN r.fold_case THEN lower(names.name) ELSE names.name END, r.needle)
GROUP BY names.name;
