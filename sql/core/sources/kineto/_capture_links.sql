-- One row per sequence of kernels that graphs of a trace replay and sequence of a capture, there or
-- in another trace, that may be its own: the same names in the same order, or, where no capture has
-- these, about as many kernels.
-- trace_id        VARCHAR  trace of the replay
-- sequence        VARCHAR  digest of the names of its kernels, in order
-- other_trace_id  VARCHAR  trace of the capture
-- other_sequence  VARCHAR  digest of the names of its kernels, in order
CREATE VIEW _capture_links AS
WITH replays AS (
    SELECT trace_id, sequence, max(position) + 1 AS kernels
    FROM _capture_replays
    GROUP BY trace_id, sequence
),
captures AS (
    SELECT trace_id, sequence, max(position) + 1 AS kernels
    FROM _capture_launches
    GROUP BY trace_id, sequence
)
SELECT
    replays.trace_id,
    replays.sequence,
    captures.trace_id AS other_trace_id,
    captures.sequence AS other_sequence
FROM replays
-- Nine of ten kernels of the longer one must be those of the other: see _capture_pairs.
JOIN captures
    ON captures.kernels >= 0.9 * replays.kernels AND replays.kernels >= 0.9 * captures.kernels
QUALIFY
    replays.sequence = captures.sequence
    OR NOT bool_or(replays.sequence = captures.sequence) OVER (
        PARTITION BY replays.trace_id, replays.sequence
    );
