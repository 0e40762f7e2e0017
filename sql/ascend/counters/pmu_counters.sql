-- One row per device row and counter of a table of Ascend kernels: every column without a specific
-- meaning here, whichever group of counters the profiler was set to read.
--
-- key: trace_id, kernel_id, counter
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the device row
-- counter    VARCHAR  name in lower case without its unit, as aic_mac_ratio
-- side       VARCHAR  aic for the cube cores, aiv for the vector cores; NULL on chips with one kind
--                     of core, or if the name does not show it
-- metric     VARCHAR  the counter's name without the side
-- unit       VARCHAR  us, gb/s, kb or %, as the column's head has it; NULL for ratios and counts
-- value      DOUBLE   what was counted; NULL if the profiler had nothing
-- text       VARCHAR  the cell, if it is not a number
-- header     VARCHAR  the column's head
CREATE VIEW pmu_counters AS
WITH cells AS (
    SELECT
        trace_id, kernel_id, first_event, unnest(range(1, len(cells) + 1)) AS place,
        unnest(cells) AS cell
    FROM _pmu_rows
),
texts AS (
    SELECT trace_id, kernel_id, first_event, place, trim(cell) AS text
    FROM cells
)
SELECT
    t.trace_id, kernel_id, counter, side, metric, unit,
    TRY_CAST(text AS DOUBLE) AS value,
    CASE WHEN TRY_CAST(text AS DOUBLE) IS NULL AND text NOT IN ('', 'N/A') THEN text END AS text,
    header
FROM texts AS t
JOIN _pmu_heads AS h
    ON h.trace_id = t.trace_id AND h.first_event = t.first_event AND h.place = t.place;
