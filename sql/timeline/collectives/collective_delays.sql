-- One row per call of a collective and device that takes part in it: how far it came behind the
-- others, and where that comes from.
--
-- A device begins to work when the collective before ends on it, works, and comes to the next. So
-- its arrival less the mean of the others is the sum of four: how much longer that collective took
-- on it once all had come (link), how much later all had come to it where it was another group's
-- (earlier), how much longer the device computed (compute), and how much longer it did not (gap).
-- Before its first collective there is only work. What it brings from a collective that the lake
-- has of others too was waited for there, and is counted there.
--
-- key: trace_id, collective_id
--
-- run                VARCHAR  run, or the trace's id where none was given
-- call               VARCHAR  the call, as in collective_ranks
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- collective_id      BIGINT   event_id of its first operation, as in collectives
-- participants       BIGINT   devices that the lake has of the call, 2 or more
-- arrival_ns         BIGINT   start on the clock of clock_trace_id, ns
-- is_last            BOOLEAN  it came last
-- late_us            DOUBLE   start after the first of all, µs
-- alone_us           DOUBLE   of the last: start after the last but one, µs
-- waiting_us         DOUBLE   from start to the start of the last, µs
-- others_waited_us   DOUBLE   sum of what the others waited, µs
-- behind_us          DOUBLE   start after the mean start of the others, µs
-- gap_us             DOUBLE   of that, time without computing since the collective before, µs
-- compute_us         DOUBLE   of that, computing, µs
-- link_us            DOUBLE   of that, the transfer of the collective before, µs
-- earlier_us         DOUBLE   of that, the arrival of all at the collective before, µs
-- brought_us         DOUBLE   of earlier_us, what is counted at the collective before, µs
-- clock_trace_id     VARCHAR  trace of the first rank whose clock this one can be compared with
-- clock_offset_us    DOUBLE   this clock minus that one, µs
-- clock_residual_us  DOUBLE   largest doubt about the clocks of the call, µs
-- unaligned_reason   VARCHAR  why the clocks of the call cannot be compared, so that all from
--                             arrival_ns on is NULL; NULL where they can
CREATE VIEW collective_delays AS
WITH calls AS (
    SELECT
        own.trace_id, own.rank, own.device, own.collective_id, own.before_us,
        own.computed_before_us, parts.run, parts.call, parts.participants, parts.arrival_ns,
        parts.is_last, parts.waiting_us, parts.late_us, parts.alone_us, parts.clock_trace_id,
        parts.clock_offset_us, parts.clock_residual_us, parts.unaligned_reason,
        row_number() OVER in_time = 1 AS is_first,
        lag(parts.transfer_us) OVER in_time AS transfer_before_us
    FROM collectives AS own
    LEFT JOIN collective_ranks AS parts
        ON parts.trace_id = own.trace_id AND parts.collective_id = own.collective_id
    WINDOW in_time AS (
        PARTITION BY own.trace_id, own.device ORDER BY own.start_ns, own.collective_id
    )
    QUALIFY parts.call IS NOT NULL
),
-- Less the mean of the others is n / (n - 1) of less the mean of all.
compared AS (
    SELECT
        run, call, trace_id, rank, device, collective_id, participants, arrival_ns, is_last,
        late_us, alone_us, waiting_us, clock_trace_id, clock_offset_us, unaligned_reason, is_first,
        transfer_before_us, participants / (participants - 1) AS scale,
        sum(waiting_us) OVER of_call - waiting_us AS others_waited_us,
        late_us - avg(late_us) OVER of_call AS late,
        late_us - before_us - avg(late_us - before_us) OVER of_call AS begun,
        computed_before_us - avg(computed_before_us) OVER of_call AS computed,
        CASE
            WHEN count(transfer_before_us) OVER of_call = participants
                THEN transfer_before_us - avg(transfer_before_us) OVER of_call
            ELSE 0
        END AS linked,
        max(clock_residual_us) OVER of_call AS residual_us
    FROM calls
    WINDOW of_call AS (PARTITION BY run, call)
),
split AS (
    SELECT
        run, call, trace_id, rank, device, collective_id, participants, arrival_ns, is_last,
        late_us, alone_us, waiting_us, others_waited_us, clock_trace_id, clock_offset_us,
        residual_us, unaligned_reason, transfer_before_us, scale * late AS behind_us,
        scale * computed AS compute_us,
        scale * CASE WHEN is_first THEN 0 ELSE linked END AS link_us,
        scale * CASE WHEN is_first THEN 0 ELSE begun - linked END AS earlier_us
    FROM compared
)
SELECT
    run, call, trace_id, rank, device, collective_id, participants, arrival_ns, is_last, late_us,
    alone_us, waiting_us, others_waited_us, behind_us,
    behind_us - compute_us - link_us - earlier_us AS gap_us,
    CASE WHEN unaligned_reason IS NULL THEN compute_us END AS compute_us,
    CASE WHEN unaligned_reason IS NULL THEN link_us END AS link_us,
    CASE WHEN unaligned_reason IS NULL THEN earlier_us END AS earlier_us,
    CASE
        WHEN unaligned_reason IS NOT NULL THEN NULL
        WHEN transfer_before_us IS NULL THEN 0
        ELSE greatest(earlier_us, 0)
    END AS brought_us,
    clock_trace_id, clock_offset_us, residual_us AS clock_residual_us, unaligned_reason
FROM split;
