-- One row per table of Ascend kernels and counter in it: what the column's head means.
--
-- rows: of ascend traces
--
-- trace_id     VARCHAR  trace
-- first_event  BIGINT   first row of the table in the trace
-- place        BIGINT   place of the counter in the text of a row, from 1
-- header       VARCHAR  the column's head
-- counter      VARCHAR  name in lower case without its unit
-- side         VARCHAR  aic, aiv or NULL
-- metric       VARCHAR  the counter's name without the side
-- unit         VARCHAR  unit in the head
CREATE VIEW _pmu_heads AS
WITH files AS (
    SELECT trace_id, unnest(CAST(metadata -> '$.files' AS JSON[])) AS file
    FROM traces
    WHERE format = 'ascend'
),
tables AS (
    SELECT
        trace_id, CAST(file ->> '$.first_event' AS BIGINT) AS first_event,
        CAST(file -> '$.counters' AS VARCHAR[]) AS heads
    FROM files
    WHERE json_array_length(file -> '$.counters') > 0
),
headers AS (
    SELECT
        trace_id, first_event, unnest(heads) AS header, unnest(range(1, len(heads) + 1)) AS place
    FROM tables
),
words AS (
    SELECT
        trace_id, first_event, place, header,
        nullif(trim(lower(regexp_extract(header, '\(([^()]*)\)\s*$', 1))), '') AS unit,
        replace(trim(lower(regexp_replace(header, '\s*\([^()]*\)\s*$', ''))), ' ', '_') AS counter
    FROM headers
)
SELECT
    trace_id, first_event, place, header, counter,
    CASE
        WHEN starts_with(counter, 'aic_') OR counter IN ('aicore_time', 'cube_utilization')
            THEN 'aic'
        WHEN starts_with(counter, 'aiv_') THEN 'aiv'
    END AS side,
    regexp_replace(counter, '^(aic|aiv|aicore)_', '') AS metric,
    unit
FROM words;
