-- One row per sequence of kernels that graphs of a trace replay and candidate sequence of a
-- capture, in this or another trace: the same names in the same order or, if no capture has these,
-- about as many kernels.
--
-- Of captures with the same names, or without names, the nearest are used, since another
-- deployment's may have other shapes: those of the trace itself, else those in its folder and below
-- it, of its rank if there are any, else all.
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
    SELECT trace_id, sequence, max(position) + 1 AS kernels, count(name) = 0 AS is_unnamed
    FROM _capture_launches
    GROUP BY trace_id, sequence
),
places AS (
    SELECT
        trace_id, rank, source_path,
        nullif(regexp_extract(source_path, '^(.*/)[^/]*$', 1), '') AS folder
    FROM _catalog
),
fitting AS (
    SELECT
        replays.trace_id,
        replays.sequence,
        captures.trace_id AS other_trace_id,
        captures.sequence AS other_sequence,
        replays.sequence = captures.sequence AS is_same, captures.is_unnamed,
        CASE
            WHEN replays.trace_id = captures.trace_id THEN 0
            WHEN starts_with(there.source_path, here.folder)
                THEN if(there.rank = here.rank, 1, 2)
            ELSE 3
        END AS far
    FROM replays
    -- Nine of ten kernels of the longer one must be those of the other: see _capture_pairs.
    JOIN captures
        ON
            CASE
                WHEN captures.is_unnamed THEN captures.kernels = replays.kernels
                ELSE
                    captures.kernels >= 0.9 * replays.kernels
                    AND replays.kernels >= 0.9 * captures.kernels
            END
    LEFT JOIN places AS here ON here.trace_id = replays.trace_id
    LEFT JOIN places AS there ON there.trace_id = captures.trace_id
)
SELECT trace_id, sequence, other_trace_id, other_sequence
FROM fitting
WINDOW one_sequence AS (PARTITION BY trace_id, sequence)
QUALIFY
    (is_same AND far = min(CASE WHEN is_same THEN far END) OVER one_sequence)
    OR (
        NOT bool_or(is_same) OVER one_sequence
        AND (NOT is_unnamed OR far = min(CASE WHEN is_unnamed THEN far END) OVER one_sequence)
    );
