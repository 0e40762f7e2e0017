-- One row per graph launch with its matching capture, see graph_captures.
--
-- others: _capture_links
--
-- trace_id          VARCHAR  trace of the graph launch
-- launch_id         BIGINT   event_id of the graph launch
-- kernels           BIGINT   kernels that were paired
-- capture_trace_id  VARCHAR  trace of the capture
-- capture_id        BIGINT   event_id there of the call that begins the capture
-- capture_name      VARCHAR  name of that call
-- captures          BIGINT   captures in the lake that fit equally well
-- replayed_kernels  BIGINT   kernels of the launch
-- captured_kernels  BIGINT   kernels of the capture
-- renamed_kernels   BIGINT   paired by their place between others: the names differ; NULL where
--                            the capture names no kernels
-- named_pct         DOUBLE   kernels paired by name, in percent of the longer of both sequences;
--                            NULL in the same cases
-- aligned_pct       DOUBLE   kernels paired, in percent of the kernels of the launch
-- is_same           BOOLEAN  the capture has exactly the same names, in the same order
CREATE VIEW _aligned_captures AS
WITH replays AS (
    SELECT DISTINCT trace_id, launch_id, sequence FROM _capture_replays
),
ranges AS (
    SELECT DISTINCT sequence AS capture_sequence, trace_id AS capture_trace_id, capture_id,
        capture_name
    FROM _capture_launches
),
aligned AS (
    SELECT
        trace_id, sequence, capture_sequence, count(*) AS paired,
        CASE WHEN count(is_renamed) > 0 THEN count(*) FILTER (is_renamed) END AS renamed,
        any_value(kernels) AS kernels, any_value(capture_kernels) AS capture_kernels
    FROM _capture_pairs
    GROUP BY trace_id, sequence, capture_sequence
),
firsts AS (
    SELECT
        trace_id, sequence, capture_sequence, paired, renamed, kernels, capture_kernels,
        capture_trace_id, capture_id, capture_name,
        count(*) OVER (PARTITION BY trace_id, sequence) AS captures
    FROM aligned
    JOIN ranges USING (capture_sequence)
    SEMI JOIN _capture_links AS links
        ON
            links.trace_id = aligned.trace_id AND links.sequence = aligned.sequence
            AND links.other_trace_id = ranges.capture_trace_id
            AND links.other_sequence = ranges.capture_sequence
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, sequence ORDER BY capture_trace_id, capture_id
    ) = 1
)
SELECT
    replays.trace_id,
    replays.launch_id,
    firsts.paired AS kernels,
    firsts.capture_trace_id,
    firsts.capture_id,
    firsts.capture_name,
    firsts.captures,
    firsts.kernels AS replayed_kernels,
    firsts.capture_kernels AS captured_kernels,
    firsts.renamed AS renamed_kernels,
    100.0 * (firsts.paired - firsts.renamed) / greatest(firsts.kernels, firsts.capture_kernels)
        AS named_pct,
    100.0 * firsts.paired / firsts.kernels AS aligned_pct,
    sequence = capture_sequence AS is_same
FROM replays
JOIN firsts USING (trace_id, sequence);
