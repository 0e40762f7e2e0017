-- One row per graph launch whose stream capture is in the lake, in its own trace or another.
--
-- They are a pair when the names of the kernels replayed, in the order of their starts, are those
-- of the kernels launched while the stream was captured, in the order of launches: all of them,
-- nothing else. Copies and fills do not count. Where no capture has all the names, the one that
-- shares most of them, nine of ten at least, in this order: see named_pct, and _capture_pairs for
-- how the others are paired. Where several captures fit as well, the first one, by trace and event,
-- stands here.
--
-- others: _capture_links
--
-- key: trace_id, launch_id
--
-- trace_id          VARCHAR  trace of the graph launch
-- launch_id         BIGINT   event_id of the graph launch
-- kernels           BIGINT   kernels that were paired
-- capture_trace_id  VARCHAR  trace of the capture
-- capture_id        BIGINT   event_id there of the call that begins the capture
-- capture_name      VARCHAR  name of that call
-- captures          BIGINT   captures in the lake that fit as well
-- replayed_kernels  BIGINT   kernels of the launch
-- captured_kernels  BIGINT   kernels of the capture
-- renamed_kernels   BIGINT   paired by their place between others: the names differ
-- named_pct         DOUBLE   kernels paired by name, in percent of the longer of both sequences
-- aligned_pct       DOUBLE   kernels paired, in percent of the kernels of the launch
-- provenance        VARCHAR  where the pair comes from, in words
CREATE VIEW graph_captures AS
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
        count(*) FILTER (is_renamed) AS renamed,
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
    format(
        '{} in the same order after {} (event {} of {}){}',
        if(
            sequence = capture_sequence,
            format('same {} kernel names', firsts.paired),
            format(
                '{} of {} kernel names, {} more by their place,',
                firsts.paired - firsts.renamed, firsts.kernels, firsts.renamed
            )
        ),
        firsts.capture_name, firsts.capture_id, traces.trace,
        if(captures > 1, format(', the first of {} such captures', captures), '')
    ) AS provenance
FROM replays
JOIN firsts USING (trace_id, sequence)
JOIN traces ON traces.trace_id = firsts.capture_trace_id;
