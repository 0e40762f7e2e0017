-- One row per distinct name of a device operation of XLA: what it counts as by its name alone.
-- name            VARCHAR  name as the trace has it
-- canonical_name  VARCHAR  name without its leading % and its trailing number
-- path            VARCHAR  scopes that the name itself spells, => between; else NULL
-- class           VARCHAR  communication, copy, dma, wait or compute
-- collective      VARCHAR  which collective, NULL for others
CREATE VIEW _op_classes AS
WITH names AS (
    SELECT name, regexp_replace(ltrim(trim(name), '%'), '\.\d+$', '') AS canonical_name
    FROM (SELECT DISTINCT name FROM _xla_texts)
),
ruled AS (
    SELECT canonical_name, arg_min({'class': class, 'collective': collective}, priority) AS found
    FROM (SELECT DISTINCT canonical_name FROM names)
    JOIN op_name_rules ON regexp_matches(lower(canonical_name), pattern)
    GROUP BY canonical_name
)
SELECT
    name, canonical_name,
    CASE
        WHEN contains(name, '=>') THEN name
        WHEN regexp_matches(name, '^[\w.]+(::[\w.]+)+$') THEN replace(name, '::', '=>')
    END AS path,
    coalesce(found.class, 'compute') AS class,
    found.collective AS collective
FROM names
LEFT JOIN ruled USING (canonical_name);
