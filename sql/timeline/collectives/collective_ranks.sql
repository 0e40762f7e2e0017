-- One row per call of a collective and participating device: when it arrived and how long it
-- waited.
--
-- Clocks of different traces differ. Collectives that no rank leaves before the last one has
-- arrived end together, so the median difference of their ends from those of the group's first rank
-- is the clocks' offset; the spread around the median shows how far to trust it. An all-to-all ends
-- on a rank when its own messages are done: it is used only in a group that has nothing else.
-- Devices of one trace share a clock. The last is the last that the lake has: if participants is
-- less than the group's size, another may have arrived after it.
--
-- key: trace_id, collective_id
--
-- run                VARCHAR  run, or the trace's id where none was given
-- call               VARCHAR  the call, the same on all devices
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- collective_id      BIGINT   event_id of its first operation, as in collectives
-- kind               VARCHAR  kind of collective
-- matched_by         VARCHAR  how the devices' parts were matched: sequence, instruction or order
-- participants       BIGINT   devices that the lake has of the call, 2 or more
-- arrival_ns         BIGINT   start on the clock of the group's first rank, ns
-- late_us            DOUBLE   start after the first of all, µs
-- waiting_us         DOUBLE   from start to the start of the last, µs
-- transfer_us        DOUBLE   from the start of the last to the end of the call on this device, µs
-- is_last            BOOLEAN  it arrived last
-- alone_us           DOUBLE   if last: its start after the second to last, µs; what it alone cost
-- clock_offset_us    DOUBLE   this clock minus that of the group's first rank, µs
-- clock_residual_us  DOUBLE   median difference of the ends after that offset, µs
-- clock_calls        BIGINT   calls that the offset is computed from
CREATE VIEW collective_ranks AS
WITH parts AS (
    SELECT
        matches.run, matches.ranks, matches.call, matches.trace_id, collectives.rank,
        matches.device, matches.collective_id, collectives.kind, matches.matched_by,
        matches.start_ns, matches.end_ns, formulas.ends_together,
        count(*) OVER (PARTITION BY matches.run, matches.call) AS participants
    FROM _collective_matches AS matches
    JOIN collectives USING (trace_id, collective_id)
    JOIN collective_formulas AS formulas ON formulas.kind = collectives.kind
),
led AS (
    SELECT
        run, ranks, call, trace_id, rank, device, collective_id, kind, matched_by, start_ns, end_ns,
        ends_together, participants,
        first_value(trace_id) OVER in_group AS first_trace,
        first_value(device) OVER in_group AS first_device
    FROM parts
    WHERE participants > 1
    WINDOW in_group AS (PARTITION BY run, ranks ORDER BY rank NULLS LAST, trace_id, device)
),
ends AS (
    SELECT
        run, ranks, trace_id, device, first_trace, kind <> 'all-to-all' AS is_close,
        end_ns - max(end_ns) FILTER (
            trace_id = first_trace AND device = first_device
        ) OVER (PARTITION BY run, call) AS difference_ns
    FROM led
    WHERE ends_together
),
closest AS (
    SELECT run, ranks, trace_id, device, first_trace, difference_ns
    FROM ends
    QUALIFY is_close = bool_or(is_close) OVER (PARTITION BY run, ranks)
),
offsets AS (
    SELECT
        run, ranks, trace_id, device,
        CASE
            WHEN trace_id <> any_value(first_trace) THEN CAST(median(difference_ns) AS HUGEINT)
            ELSE 0
        END AS offset_ns,
        mad(CAST(difference_ns AS DOUBLE)) AS residual_ns,
        count(difference_ns) AS calls
    FROM closest
    GROUP BY run, ranks, trace_id, device
),
placed AS (
    SELECT
        led.run, led.call, led.trace_id, led.rank, led.device, led.collective_id, led.kind,
        led.matched_by, led.participants,
        -- Wider than any difference of two differences of times.
        CAST(led.start_ns AS HUGEINT) - coalesce(offsets.offset_ns, 0) AS arrival_ns,
        CAST(led.end_ns AS HUGEINT) - coalesce(offsets.offset_ns, 0) AS end_ns,
        offsets.offset_ns, offsets.residual_ns, offsets.calls
    FROM led
    LEFT JOIN offsets
        ON offsets.run = led.run
        AND offsets.ranks = led.ranks
        AND offsets.trace_id = led.trace_id
        AND offsets.device = led.device
)
SELECT
    run, call, trace_id, rank, device, collective_id, kind, matched_by, participants,
    TRY_CAST(placed.arrival_ns AS BIGINT) AS arrival_ns,
    (placed.arrival_ns - min(placed.arrival_ns) OVER of_call) / 1000.0 AS late_us,
    (max(placed.arrival_ns) OVER of_call - placed.arrival_ns) / 1000.0 AS waiting_us,
    greatest(end_ns - max(placed.arrival_ns) OVER of_call, 0) / 1000.0 AS transfer_us,
    row_number() OVER latest = 1 AS is_last,
    CASE WHEN row_number() OVER latest = 1 THEN
        (placed.arrival_ns - lead(placed.arrival_ns) OVER latest) / 1000.0
    END AS alone_us,
    offset_ns / 1000.0 AS clock_offset_us,
    residual_ns / 1000.0 AS clock_residual_us,
    calls AS clock_calls
FROM placed
WINDOW
    of_call AS (PARTITION BY run, call),
    latest AS (PARTITION BY run, call ORDER BY placed.arrival_ns DESC, rank, trace_id, device);
