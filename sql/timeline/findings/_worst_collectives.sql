-- One row per trace with communication: the kind of collective, of one program, with the most
-- exposed time, and whether that is a wait rather than a transfer: on each device one call has most
-- of it. On a tie, the first by name.
--
-- A call that waits for a late rank takes as long as that rank is late. It holds more than half of
-- the exposed time of its kind, the longest of each device taken together, and takes more than ten
-- times as long as the median of the other calls, in proportion to their sizes if it is larger.
-- Messages from one device to another are no such wait: in a pipeline it is the schedule that makes
-- a stage wait for its first.
--
-- stored: per trace
--
-- trace_id    VARCHAR  trace
-- kind        VARCHAR  kind of collective
-- program     VARCHAR  program, NULL if the trace shows none
-- calls       BIGINT   calls of the kind
-- exposed_us  DOUBLE   exposed time of them, µs
-- longest_us  DOUBLE   that of the one with most, µs
-- is_wait     BOOLEAN  such a call has most of the time
CREATE VIEW _worst_collectives AS
WITH calls AS (
    SELECT
        trace_id, kind, program, dur_us, exposed_us, bytes,
        row_number() OVER (
            PARTITION BY trace_id, device, kind, program
            ORDER BY exposed_us DESC, dur_us DESC, collective_id
        ) = 1 AS is_longest
    FROM collectives
),
kinds AS (
    SELECT
        trace_id, kind, program, count(*) AS calls, sum(exposed_us) AS exposed_us,
        max(exposed_us) AS longest_us,
        2 * sum(exposed_us) FILTER (is_longest) > sum(exposed_us) AS is_most,
        max(dur_us) FILTER (is_longest) AS long_us, max(bytes) FILTER (is_longest) AS long_bytes,
        median(dur_us) FILTER (NOT is_longest) AS other_us,
        median(bytes) FILTER (NOT is_longest) AS other_bytes
    FROM calls
    GROUP BY trace_id, kind, program
    QUALIFY row_number() OVER (
        PARTITION BY trace_id ORDER BY sum(exposed_us) DESC, kind, program
    ) = 1
)
SELECT
    trace_id, kind, program, calls, exposed_us, longest_us,
    coalesce(
        kind IS DISTINCT FROM 'send-recv' AND is_most
        AND long_us > 10 * other_us * greatest(coalesce(long_bytes / nullif(other_bytes, 0), 1), 1),
        FALSE
    ) AS is_wait
FROM kinds;
