-- One row per graph launch whose stream capture is in the lake, in its own trace or another.
--
-- They are a pair when the names of the kernels replayed, in the order of their starts, are those
-- of the kernels launched while the stream was captured, in the order of launches: all of them,
-- nothing else. Copies and fills do not count. Where several captures have the same names, the
-- first one, by trace and event, stands here.
--
-- Reads other traces: those of _capture_links.
--
-- trace_id          VARCHAR  trace of the graph launch
-- launch_id         BIGINT   event_id of the graph launch
-- kernels           BIGINT   kernels that were paired
-- capture_trace_id  VARCHAR  trace of the capture
-- capture_id        BIGINT   event_id there of the call that begins the capture
-- capture_name      VARCHAR  name of that call
-- captures          BIGINT   captures in the lake with these names, in this order
-- provenance        VARCHAR  where the pair comes from, in words
CREATE VIEW graph_captures AS
WITH replays AS (
    SELECT trace_id, launch_id, sequence, count(*) AS kernels
    FROM _capture_replays
    GROUP BY trace_id, launch_id, sequence
),
ranges AS (
    SELECT DISTINCT sequence, trace_id AS capture_trace_id, capture_id, capture_name
    FROM _capture_launches
),
firsts AS (
    SELECT
        sequence, capture_trace_id, capture_id, capture_name,
        count(*) OVER (PARTITION BY sequence) AS captures
    FROM ranges
    QUALIFY row_number() OVER (PARTITION BY sequence ORDER BY capture_trace_id, capture_id) = 1
)
SELECT
    replays.trace_id,
    replays.launch_id,
    replays.kernels,
    firsts.capture_trace_id,
    firsts.capture_id,
    firsts.capture_name,
    firsts.captures,
    format(
        'same {} kernel names in the same order after {} (event {} of {}){}',
        replays.kernels, firsts.capture_name, firsts.capture_id, traces.trace,
        if(captures > 1, format(', the first of {} such captures', captures), '')
    ) AS provenance
FROM replays
JOIN firsts USING (sequence)
JOIN traces ON traces.trace_id = firsts.capture_trace_id;
