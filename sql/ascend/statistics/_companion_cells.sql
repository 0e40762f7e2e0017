-- One row per cell of a companion table's row, with its header matched by letters alone: writers
-- differ in case, spaces and underscores.
-- trace_id  VARCHAR  trace
-- event_id  BIGINT   event of the row
-- kind      VARCHAR  what the table is, such as step_trace_time
-- header    VARCHAR  letters of the column's header, in lower case
-- value     VARCHAR  text of the cell without padding; NULL if it is N/A or empty
CREATE VIEW _companion_cells AS
WITH cells AS (
    SELECT
        trace_id, event_id, name AS kind,
        unnest(map_entries(CAST(CAST(args AS JSON) AS MAP(VARCHAR, VARCHAR)))) AS cell
    FROM events
    WHERE lane = 'meta' AND name IN ('op_statistic', 'profiled_shape', 'step_trace_time')
)
SELECT
    trace_id, event_id, kind, regexp_replace(lower(cell.key), '[^a-z]', '', 'g') AS header,
    nullif(nullif(trim(cell.value, ' "' || chr(9)), ''), 'N/A') AS value
FROM cells;
