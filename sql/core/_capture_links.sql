-- One row per trace with replayed graphs and other trace whose captures have the kernel names of
-- one of them: what is known of a replayed kernel is known from there.
-- trace_id        VARCHAR  trace of the replay
-- other_trace_id  VARCHAR  trace of the capture
CREATE VIEW _capture_links AS
WITH replays AS (
    SELECT DISTINCT trace_id, sequence FROM _capture_replays
),
captures AS (
    SELECT DISTINCT trace_id, sequence FROM _capture_launches
)
SELECT DISTINCT replays.trace_id, captures.trace_id AS other_trace_id
FROM replays
JOIN captures USING (sequence)
WHERE replays.trace_id != captures.trace_id;
