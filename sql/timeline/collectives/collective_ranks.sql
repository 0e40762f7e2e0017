-- One row per call of a collective and participating device: when it arrived and how long it
-- waited.
--
-- Clocks of different traces differ. Collectives that no rank leaves before the last one has
-- arrived end together, so the median difference of their ends on two traces is the offset of these
-- clocks, in whatever groups they meet. Traces without such a call in common are compared via
-- others. Without a path, the times against others are NULL. The spread of the ends around the
-- offset shows how far to trust it. An all-to-all ends on a rank when its own messages are done: it
-- is used only between traces that have nothing else. Devices of one trace share a clock. The last
-- is the last that the lake has: if participants is less than the group's size, another may have
-- arrived after it.
--
-- key: trace_id, collective_id
--
-- run                VARCHAR  run, or the trace's id if it has none
-- call               VARCHAR  the call, the same on all devices
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- collective_id      BIGINT   event_id of its first operation, as in collectives
-- kind               VARCHAR  kind of collective
-- matched_by         VARCHAR  how the devices' parts were matched: sequence, instruction or order
-- participants       BIGINT   devices that the lake has of the call, 2 or more
-- arrival_ns         BIGINT   start on the clock of clock_trace_id, ns
-- late_us            DOUBLE   start after the first of all, µs
-- waiting_us         DOUBLE   from start to the start of the last, µs
-- transfer_us        DOUBLE   from the start of the last to the end of the call on this device, µs
-- is_last            BOOLEAN  it arrived last
-- alone_us           DOUBLE   if last: its start after the second to last, µs
-- clock_trace_id     VARCHAR  trace of the first rank whose clock this one can be compared with
-- clock_offset_us    DOUBLE   this clock minus that one, µs
-- clock_residual_us  DOUBLE   median difference of the ends in the group after these offsets, µs;
--                             if none end together, that of the calls that the offset is from,
--                             summed over the path
-- clock_calls        BIGINT   calls that the offset is computed from; via others, the fewest on the
--                             path
-- unaligned_reason   VARCHAR  why the clocks of the call cannot be compared, so that all columns
--                             from arrival_ns on are NULL; NULL if they can
CREATE VIEW collective_ranks AS
WITH RECURSIVE parts AS MATERIALIZED (
    SELECT
        matches.run, matches.ranks, matches.call, matches.trace_id, collectives.rank,
        matches.device, matches.collective_id, collectives.kind, matches.matched_by,
        matches.start_ns, matches.end_ns, formulas.ends_together,
        -- HUGEINT: a difference of two times may not fit in 64 bits.
        CAST(matches.end_ns AS HUGEINT) - first_value(matches.end_ns) OVER in_order
            AS difference_ns,
        first_value(matches.trace_id) OVER in_order AS first_trace,
        first_value(matches.collective_id) OVER in_order AS first_part,
        count(*) OVER (PARTITION BY matches.run, matches.call) AS participants
    FROM _collective_matches AS matches
    JOIN collectives USING (trace_id, collective_id)
    JOIN collective_formulas AS formulas ON formulas.kind = collectives.kind
    WINDOW in_order AS (
        PARTITION BY matches.run, matches.call
        ORDER BY collectives.rank NULLS LAST, matches.trace_id, matches.device
    )
    QUALIFY participants > 1
),
pairs AS (
    SELECT
        first_trace, trace_id,
        CAST(coalesce(
            median(difference_ns) FILTER (kind <> 'all-to-all'), median(difference_ns)
        ) AS HUGEINT) AS offset_ns,
        coalesce(
            mad(CAST(difference_ns AS DOUBLE)) FILTER (kind <> 'all-to-all'),
            mad(CAST(difference_ns AS DOUBLE))
        ) AS residual_ns,
        coalesce(nullif(count(*) FILTER (kind <> 'all-to-all'), 0), count(*)) AS calls
    FROM parts
    WHERE ends_together AND trace_id <> first_trace
    GROUP BY first_trace, trace_id
),
ways AS (
    SELECT first_trace AS from_id, trace_id AS to_id, offset_ns, residual_ns, calls FROM pairs
    UNION ALL
    SELECT trace_id, first_trace, -offset_ns, residual_ns, calls FROM pairs
),
members AS (
    SELECT
        trace_id, row_number() OVER (ORDER BY run, min(rank) NULLS LAST, trace_id) AS place
    FROM parts
    GROUP BY run, trace_id
),
-- Each trace is compared with the first one that any path leads to, by the shortest path.
reached USING KEY (trace_id) AS (
    SELECT
        trace_id, place AS first_place, CAST(0 AS HUGEINT) AS offset_ns,
        CAST(0 AS DOUBLE) AS residual_ns, CAST(NULL AS BIGINT) AS calls
    FROM members
    UNION
    SELECT
        trace_id, best.first_place, best.offset_ns, best.residual_ns, best.calls
    FROM (
        SELECT
            ways.to_id AS trace_id,
            min({
                'first_place': near.first_place,
                'residual_ns': near.residual_ns + ways.residual_ns,
                'offset_ns': near.offset_ns + ways.offset_ns,
                'calls': least(near.calls, ways.calls)
            }) AS best
        FROM reached AS near
        JOIN ways ON ways.from_id = near.trace_id
        JOIN recurring.reached AS known ON known.trace_id = ways.to_id
        WHERE near.first_place < known.first_place
        GROUP BY ways.to_id
    )
),
clocks AS (
    SELECT
        reached.trace_id, members.trace_id AS clock_trace_id, reached.offset_ns,
        reached.residual_ns, reached.calls
    FROM reached
    JOIN members ON members.place = reached.first_place
),
residuals AS (
    SELECT
        parts.run, parts.ranks, parts.trace_id, parts.device,
        median(abs(CAST(difference_ns - own.offset_ns + first.offset_ns AS DOUBLE)))
            AS residual_ns
    FROM parts
    JOIN clocks AS own ON own.trace_id = parts.trace_id
    JOIN clocks AS first ON first.trace_id = parts.first_trace
    WHERE
        ends_together AND kind <> 'all-to-all'
        AND (parts.trace_id, collective_id) <> (first_trace, first_part)
    GROUP BY parts.run, parts.ranks, parts.trace_id, parts.device
),
unaligned AS (
    SELECT DISTINCT
        parts.run, parts.call,
        'no collective that ends together on its ranks, such as an all-reduce, links their clocks'
            AS reason
    FROM parts
    JOIN clocks AS own ON own.trace_id = parts.trace_id
    JOIN clocks AS first ON first.trace_id = parts.first_trace
    WHERE own.clock_trace_id <> first.clock_trace_id
),
placed AS (
    SELECT
        parts.run, parts.call, parts.trace_id, parts.rank, parts.device, parts.collective_id,
        parts.kind, parts.matched_by, parts.participants, unaligned.reason,
        parts.start_ns - clocks.offset_ns AS arrival_ns, parts.end_ns - clocks.offset_ns AS end_ns,
        clocks.clock_trace_id, clocks.offset_ns, clocks.calls,
        CASE WHEN unaligned.reason IS NULL
            THEN coalesce(residuals.residual_ns, clocks.residual_ns)
        END AS residual_ns
    FROM parts
    LEFT JOIN unaligned ON unaligned.run = parts.run AND unaligned.call = parts.call
    LEFT JOIN clocks ON clocks.trace_id = parts.trace_id AND unaligned.reason IS NULL
    LEFT JOIN residuals
        ON residuals.run = parts.run
        AND residuals.ranks = parts.ranks
        AND residuals.trace_id = parts.trace_id
        AND residuals.device = parts.device
)
SELECT
    run, call, trace_id, rank, device, collective_id, kind, matched_by, participants,
    TRY_CAST(placed.arrival_ns AS BIGINT) AS arrival_ns,
    (placed.arrival_ns - min(placed.arrival_ns) OVER of_call) / 1000.0 AS late_us,
    (max(placed.arrival_ns) OVER of_call - placed.arrival_ns) / 1000.0 AS waiting_us,
    CASE WHEN reason IS NULL THEN
        greatest(end_ns - max(placed.arrival_ns) OVER of_call, 0) / 1000.0
    END AS transfer_us,
    CASE WHEN reason IS NULL THEN row_number() OVER latest = 1 END AS is_last,
    CASE WHEN row_number() OVER latest = 1 THEN
        (placed.arrival_ns - lead(placed.arrival_ns) OVER latest) / 1000.0
    END AS alone_us,
    clock_trace_id,
    offset_ns / 1000.0 AS clock_offset_us,
    residual_ns / 1000.0 AS clock_residual_us,
    calls AS clock_calls, reason AS unaligned_reason
FROM placed
WINDOW
    of_call AS (PARTITION BY run, call),
    latest AS (PARTITION BY run, call ORDER BY placed.arrival_ns DESC, rank, trace_id, device);
