-- One row per row of a table of Ascend kernels with counters: their cells, in the table's order.
--
-- trace_id     VARCHAR    trace
-- kernel_id    BIGINT     the row
-- first_event  BIGINT     first row of its table in the trace
-- cells        VARCHAR[]  the cells
CREATE VIEW _pmu_rows AS
WITH tables AS (
    SELECT
        trace_id, first_event,
        lead(first_event, 1, CAST(9223372036854775807 AS BIGINT)) OVER (
            PARTITION BY trace_id ORDER BY first_event
        ) AS next_event
    FROM (SELECT DISTINCT trace_id, first_event FROM _pmu_heads)
)
SELECT
    events.trace_id, events.event_id AS kernel_id, tables.first_event,
    string_split(args ->> '$.counters', chr(9)) AS cells
FROM events
-- A trace has few tables, all of one folder; ASOF would sort all rows with their texts.
JOIN tables
    ON tables.trace_id = events.trace_id
    AND events.event_id >= tables.first_event
    AND events.event_id < tables.next_event
WHERE events.lane = 'device' AND contains(args, '"counters":');
