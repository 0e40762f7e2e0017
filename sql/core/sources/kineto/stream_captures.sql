-- One row per stream capture that a trace shows: launches recorded into a graph instead of being
-- run. The later graph launches are in graph_captures.
--
-- key: trace_id, capture_id
--
-- trace_id      VARCHAR  trace
-- capture_id    BIGINT   event_id of the call that begins it
-- capture_name  VARCHAR  name of that call
-- launches      BIGINT   launches of kernels in it
CREATE VIEW stream_captures AS
SELECT trace_id, capture_id, capture_name, count(*) AS launches
FROM _capture_launches
GROUP BY trace_id, capture_id, capture_name;
