-- An event's duration is its end minus its start, and there is one exactly where there is an end.
-- trace_id  VARCHAR  trace
-- event_id  BIGINT   event that breaks the law
CREATE VIEW _durations_are_differences AS
SELECT trace_id, event_id
FROM events
WHERE dur_ns IS DISTINCT FROM end_ns - start_ns;
