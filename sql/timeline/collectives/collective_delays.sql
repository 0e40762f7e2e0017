-- A time in µs without what differences of doubles leave: 0, also for -7e-15.
CREATE MACRO _without_noise(us) AS round(us, 6) + 0;

-- One row per call of a collective and participating device: how far it arrived behind the others,
-- split by cause.
--
-- A device starts to work when the previous collective ends on it, works, and arrives at the next.
-- So its arrival minus the mean arrival of the others is a sum of four parts: how much longer that
-- collective took on it after all had arrived (link), how much later all had arrived at it if it
-- was another group's (earlier), how much longer the device computed (compute), and how much longer
-- it did not (gap). Before a device's first collective there is only work. The delay that it brings
-- from a collective that the lake has from other devices too was already waited for there, and is
-- counted there.
--
-- Work that a device does meanwhile hides its wait. If the last had arrived earlier, the collective
-- would have ended as much earlier, so that a wait costs at most the time in which nothing but the
-- collective runs, in its transfer too. In an overlapped collective a lag that one call does not
-- end is part of the waits in each later call, but it is exposed once.
--
-- key: trace_id, collective_id
--
-- run                VARCHAR  run, or the trace's id if it has none
-- call               VARCHAR  the call, as in collective_ranks
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- collective_id      BIGINT   event_id of its first operation, as in collectives
-- participants       BIGINT   devices that the lake has of the call, 2 or more
-- arrival_ns         BIGINT   start on the clock of clock_trace_id, ns
-- is_last            BOOLEAN  it arrived last
-- late_us            DOUBLE   start after the first of all, µs
-- alone_us           DOUBLE   if last: its start after the second to last, µs
-- waiting_us         DOUBLE   from start to the start of the last, µs
-- exposed_waiting_us DOUBLE   part of waiting_us that no work hides: at most the exposed time of
--                             the collective, µs
-- others_waited_us   DOUBLE   sum of the others' exposed waits, µs
-- exposed_share      DOUBLE   share of all waits in the call that is exposed, 0 if nobody waits
-- behind_us          DOUBLE   start after the mean start of the others, µs
-- gap_us             DOUBLE   part of it: time without computing since the previous collective, µs
-- compute_us         DOUBLE   part of it: computing, µs
-- link_us            DOUBLE   part of it: the transfer of the previous collective, µs
-- earlier_us         DOUBLE   part of it: the arrival of all at the previous collective, µs
-- brought_us         DOUBLE   part of earlier_us that is counted at the previous collective, µs
-- clock_trace_id     VARCHAR  trace of the first rank whose clock this one can be compared with
-- clock_offset_us    DOUBLE   this clock minus that one, µs
-- clock_residual_us  DOUBLE   largest uncertainty of the clocks of the call, µs
-- unaligned_reason   VARCHAR  why the clocks of the call cannot be compared, so that all columns
--                             from arrival_ns on are NULL; NULL if they can
CREATE VIEW collective_delays AS
WITH calls AS (
    SELECT
        own.trace_id, own.rank, own.device, own.collective_id, own.before_us,
        own.computed_before_us, parts.run, parts.call, parts.participants, parts.arrival_ns,
        parts.is_last, parts.waiting_us,
        CASE
            WHEN parts.waiting_us IS NOT NULL THEN least(parts.waiting_us, own.exposed_us)
        END AS exposed_waiting_us,
        parts.late_us, parts.alone_us, parts.clock_trace_id,
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
-- A value minus the mean of the others is n / (n - 1) times the value minus the mean of all.
compared AS (
    SELECT
        run, call, trace_id, rank, device, collective_id, participants, arrival_ns, is_last,
        late_us, alone_us, waiting_us, clock_trace_id, clock_offset_us, unaligned_reason, is_first,
        transfer_before_us, participants / (participants - 1) AS scale,
        exposed_waiting_us,
        sum(exposed_waiting_us) OVER of_call - exposed_waiting_us AS others_waited_us,
        coalesce(
            sum(exposed_waiting_us) OVER of_call / nullif(sum(waiting_us) OVER of_call, 0), 0
        ) AS exposed_share,
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
        late_us, alone_us, waiting_us, exposed_waiting_us, others_waited_us,
        exposed_share, clock_trace_id, clock_offset_us, residual_us, unaligned_reason,
        transfer_before_us, _without_noise(scale * late) AS behind_us,
        _without_noise(scale * computed) AS compute_us,
        _without_noise(scale * CASE WHEN is_first THEN 0 ELSE linked END) AS link_us,
        _without_noise(scale * CASE WHEN is_first THEN 0 ELSE begun - linked END) AS earlier_us
    FROM compared
)
SELECT
    run, call, trace_id, rank, device, collective_id, participants, arrival_ns, is_last, late_us,
    alone_us, waiting_us, exposed_waiting_us, others_waited_us,
    CASE WHEN unaligned_reason IS NULL THEN exposed_share END AS exposed_share, behind_us,
    _without_noise(behind_us - compute_us - link_us - earlier_us) AS gap_us,
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
