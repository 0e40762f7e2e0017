-- One row per gap as the reference's profile summary finds them: on each line of a device
-- separately, including copies in flight, of any length. TPU operations are one clock of 1.2 ns
-- apart: rounding to whole ns makes other such distances gaps than picoseconds do.
-- trace_id      VARCHAR  trace
-- payload_id    BIGINT   event_id of the operation that it puts the gap before
-- payload_name  VARCHAR  its name
-- marker_name   VARCHAR  name of the operation that ends the gap
-- gap_ns        BIGINT   length, ns
CREATE VIEW _compat_gaps AS
WITH operations AS (
    SELECT
        events.trace_id, events.pid, events.tid, events.event_id, events.name, events.start_ns,
        events.end_ns
    FROM events
    JOIN lines USING (trace_id, pid, tid)
    WHERE
        events.lane = 'device' AND events.dur_ns >= 0 AND lines.role IN ('operation', 'async')
        AND starts_with(lines.process, '/device:')
),
marker_names AS (
    SELECT DISTINCT names.name
    FROM (SELECT DISTINCT name FROM operations) AS names
    JOIN gap_markers
        ON regexp_matches(lower(names.name), gap_markers.pattern) AND gap_markers.in_reference
),
placed AS (
    SELECT
        trace_id, pid, tid, event_id, operations.name, start_ns,
        marker_names.name IS NOT NULL AS is_marker,
        row_number() OVER in_time AS place,
        max(end_ns) OVER (in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns
    FROM operations
    LEFT JOIN marker_names USING (name)
    WINDOW in_time AS (PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns, event_id)
),
chained AS (
    -- A chain is the operations from one gap to the next.
    SELECT
        trace_id, pid, tid, event_id, name, place, is_marker, start_ns - until_ns AS gap_ns,
        coalesce(start_ns > until_ns, FALSE) AS opens,
        sum(CASE WHEN start_ns > until_ns THEN 1 ELSE 0 END) OVER (
            PARTITION BY trace_id, pid, tid ORDER BY place
        ) AS chain
    FROM placed
),
openings AS (
    SELECT trace_id, pid, tid, chain, event_id, name, place, is_marker, gap_ns
    FROM chained
    WHERE opens
),
payloads AS (
    SELECT
        openings.trace_id, openings.pid, openings.tid, openings.chain,
        arg_min(chained.event_id, chained.place) AS event_id,
        arg_min(chained.name, chained.place) AS name
    FROM openings
    JOIN chained
        ON chained.trace_id = openings.trace_id AND chained.pid = openings.pid
        AND chained.tid = openings.tid AND chained.chain = openings.chain
    -- It looks no further than eight operations.
    WHERE openings.is_marker AND NOT chained.is_marker AND chained.place - openings.place <= 8
    GROUP BY openings.trace_id, openings.pid, openings.tid, openings.chain
)
SELECT
    openings.trace_id,
    coalesce(payloads.event_id, openings.event_id) AS payload_id,
    coalesce(payloads.name, openings.name) AS payload_name,
    openings.name AS marker_name,
    openings.gap_ns
FROM openings
LEFT JOIN payloads USING (trace_id, pid, tid, chain);
