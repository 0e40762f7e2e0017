-- A trace has as many events as its catalog entry has, each with a number of its own.
-- trace_id  VARCHAR  trace that breaks the law
-- counted   BIGINT   events found
-- distinct_ids  BIGINT   distinct event_id among them
-- expected  BIGINT   event_count of the catalog
CREATE VIEW _events_are_counted AS
WITH counts AS (
    SELECT trace_id, count(*) AS counted, count(DISTINCT event_id) AS distinct_ids
    FROM events
    GROUP BY trace_id
)
SELECT
    trace_id, coalesce(counted, 0) AS counted, coalesce(distinct_ids, 0) AS distinct_ids,
    event_count AS expected
FROM traces
LEFT JOIN counts USING (trace_id)
WHERE coalesce(counted, 0) <> event_count OR coalesce(distinct_ids, 0) <> event_count;
