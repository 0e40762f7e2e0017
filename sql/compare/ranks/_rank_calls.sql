-- One row per collective of a device, with the step it began in; of one that the lake has of other
-- devices too, how long it waited, and how far behind the mean of the others it came.
--
-- Where the time behind comes from: a device begins to work when the collective before ends on it,
-- works, and comes to the next. So the difference of the arrivals is the sum of four: how much
-- longer that collective took on it once all had come (link), how much later all had come to it
-- where it was another group's (earlier), how much longer the device computed (compute), and how
-- much longer it did not (gap). Before its first collective there is only work.
--
-- trace_id           VARCHAR  trace
-- device             INTEGER  device
-- collective_id      BIGINT   event_id of its first operation
-- run                VARCHAR  run, or the trace's id where none was given
-- rank               INTEGER  rank in the job, NULL if unknown
-- step_id            BIGINT   step in which it began, NULL before the first
-- call               VARCHAR  the call, the same on all devices; NULL where it has no partner
-- kind               VARCHAR  kind of collective
-- sequence           BIGINT   number of the call within the group, where the trace has it
-- process_group      VARCHAR  name of its group of ranks
-- group_ranks        VARCHAR  the ranks of that group, as the trace lists them
-- group_size         BIGINT   their number
-- group_size_source  VARCHAR  where it is from, as in collectives
-- participants       BIGINT   devices that the lake has of the call, itself at least
-- arrival_ns         BIGINT   start on the clock of the group's first rank, ns
-- is_last            BOOLEAN  it came last
-- waiting_us         DOUBLE   from start to the start of the last, µs
-- others_waited_us   DOUBLE   sum of what the others waited, µs
-- behind_us          DOUBLE   start after the mean start of the others, µs
-- gap_us             DOUBLE   of that, time without computing since the collective before, µs
-- compute_us         DOUBLE   of that, computing, µs
-- link_us            DOUBLE   of that, the transfer of the collective before, µs
-- earlier_us         DOUBLE   of that, the arrival of all at the collective before, µs
-- clock_offset_us    DOUBLE   this clock minus that of the group's first rank, µs
-- clock_residual_us  DOUBLE   largest uncertainty of the clocks of the call, µs
-- clock_calls        BIGINT   calls that the offset is from
-- cause              VARCHAR  why the others waited for it; NULL where they did not, or no longer
--                             than the residual
CREATE VIEW _rank_calls AS
WITH calls AS (
    SELECT
        own.trace_id, own.device, own.collective_id, coalesce(traces.run, own.trace_id) AS run,
        own.rank, own.kind, own.sequence, own.process_group, own.group_ranks, own.group_size,
        own.group_size_source, own.start_ns, parts.call, parts.participants,
        parts.arrival_ns, parts.is_last, parts.waiting_us, parts.late_us, parts.clock_offset_us,
        parts.clock_residual_us, parts.clock_calls, own.before_us, own.computed_before_us,
        row_number() OVER in_time = 1 AS is_first,
        lag(parts.transfer_us) OVER in_time AS transfer_before_us
    FROM collectives AS own
    JOIN traces ON traces.trace_id = own.trace_id
    LEFT JOIN collective_ranks AS parts
        ON parts.trace_id = own.trace_id AND parts.collective_id = own.collective_id
    WINDOW in_time AS (
        PARTITION BY own.trace_id, own.device ORDER BY own.start_ns, own.collective_id
    )
),
-- Less the mean of the others is n / (n - 1) of less the mean of all.
compared AS (
    SELECT
        *, participants / nullif(participants - 1, 0) AS scale,
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
behind AS (
    SELECT
        trace_id, device, collective_id, run, rank, call, kind, sequence, process_group,
        group_ranks, group_size, group_size_source, participants, start_ns, arrival_ns,
        is_last, waiting_us, others_waited_us, residual_us, clock_offset_us, clock_calls,
        scale * late AS behind_us,
        scale * (late - computed - CASE WHEN is_first THEN 0 ELSE begun END) AS gap_us,
        scale * computed AS compute_us,
        scale * CASE WHEN is_first THEN 0 ELSE linked END AS link_us,
        scale * CASE WHEN is_first THEN 0 ELSE begun - linked END AS earlier_us
    FROM compared
),
started AS (
    SELECT trace_id, device, step_id, start_ns FROM step_states WHERE start_ns IS NOT NULL
)
SELECT
    behind.trace_id, behind.device, collective_id, run, rank, started.step_id, call, kind, sequence,
    process_group, group_ranks, group_size, group_size_source,
    coalesce(participants, 1) AS participants, arrival_ns, is_last, waiting_us,
    CASE WHEN call IS NOT NULL THEN others_waited_us END AS others_waited_us,
    behind_us, gap_us, compute_us, link_us, earlier_us, clock_offset_us,
    CASE WHEN call IS NOT NULL THEN residual_us END AS clock_residual_us, clock_calls,
    CASE WHEN is_last AND behind_us > coalesce(residual_us, 0) THEN list_max([
        {'us': gap_us, 'cause': 'late start'},
        {'us': compute_us, 'cause': 'slow compute'},
        {'us': link_us, 'cause': 'slow link'},
        {'us': earlier_us, 'cause': 'earlier call'}
    ]).cause END AS cause
FROM behind
ASOF LEFT JOIN started
    ON started.trace_id = behind.trace_id
    AND started.device = behind.device
    AND started.start_ns <= behind.start_ns;
