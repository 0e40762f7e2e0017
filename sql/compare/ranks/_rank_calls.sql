-- One row per collective of a device, with the step it began in; if the lake has it from other
-- devices too, how long it waited, and how far behind the mean of the others it arrived.
-- See collective_delays.
--
-- trace_id           VARCHAR  trace
-- device             INTEGER  device
-- collective_id      BIGINT   event_id of its first operation
-- run                VARCHAR  run, or the trace's id where none was given
-- rank               INTEGER  rank in the job, NULL if unknown
-- step_id            BIGINT   step in which it began, NULL before the first
-- call               VARCHAR  the call, the same on all devices; NULL if it has no partner
-- kind               VARCHAR  kind of collective
-- sequence           BIGINT   number of the call within the group, if the trace has it
-- process_group      VARCHAR  name of its group of ranks
-- group_ranks        VARCHAR  the ranks of that group, as the trace lists them
-- group_size         BIGINT   their number
-- group_size_source  VARCHAR  where it is from, as in collectives
-- participants       BIGINT   devices that the lake has of the call, including itself
-- arrival_ns         BIGINT   start on the clock of clock_trace_id, ns
-- is_last            BOOLEAN  it came last
-- exposed_us         DOUBLE   time in which the device only communicates, as in collectives, µs
-- exposed_waiting_us DOUBLE   part of its wait for the last that no work hides, µs
-- others_waited_us   DOUBLE   sum of the others' exposed waits, µs
-- exposed_share      DOUBLE   share of all waits in the call that is exposed
-- behind_us          DOUBLE   start after the mean start of the others, µs
-- gap_us             DOUBLE   of that, time without computing since the previous collective, µs
-- compute_us         DOUBLE   of that, computing, µs
-- link_us            DOUBLE   of that, the transfer of the previous collective, µs
-- earlier_us         DOUBLE   of that, the arrival of all at the previous collective, µs
-- clock_trace_id     VARCHAR  trace of the first rank whose clock this one can be compared with
-- clock_offset_us    DOUBLE   this clock minus that one, µs
-- clock_residual_us  DOUBLE   largest uncertainty of the clocks of the call, µs
-- unaligned_reason   VARCHAR  why the clocks of the call cannot be compared
-- cause              VARCHAR  why the others waited for it; NULL if they did not, or no longer than
--                             the residual
-- own_us             DOUBLE   mean exposed wait of the others for it, at most the part of behind_us
--                             that is not counted at an earlier call, µs; 0 if the others did not
--                             wait, or within the residual
-- own_earlier_us     DOUBLE   part of earlier_us that is not counted at an earlier call, µs
CREATE VIEW _rank_calls AS
WITH calls AS (
    SELECT
        own.trace_id, own.device, own.collective_id, coalesce(traces.run, own.trace_id) AS run,
        own.rank, own.kind, own.sequence, own.process_group, own.group_ranks, own.group_size,
        own.group_size_source, own.start_ns, delays.call,
        coalesce(delays.participants, 1) AS participants, delays.arrival_ns, delays.is_last,
        own.exposed_us, delays.exposed_waiting_us, delays.others_waited_us,
        delays.exposed_share, delays.behind_us, delays.gap_us,
        delays.compute_us, delays.link_us, delays.earlier_us, delays.brought_us,
        delays.clock_trace_id, delays.clock_offset_us, delays.clock_residual_us,
        delays.unaligned_reason,
        delays.is_last AND delays.behind_us > coalesce(delays.clock_residual_us, 0) AS is_late,
        least(
            delays.behind_us - delays.brought_us,
            delays.others_waited_us / (delays.participants - 1)
        ) AS cost_us
    FROM collectives AS own
    JOIN traces ON traces.trace_id = own.trace_id
    LEFT JOIN collective_delays AS delays
        ON delays.trace_id = own.trace_id AND delays.collective_id = own.collective_id
),
started AS (
    SELECT trace_id, device, step_id, start_ns FROM step_states WHERE start_ns IS NOT NULL
)
SELECT
    calls.trace_id, calls.device, collective_id, run, rank, started.step_id, call, kind, sequence,
    process_group, group_ranks, group_size, group_size_source, participants, arrival_ns, is_last,
    exposed_us, exposed_waiting_us, others_waited_us, exposed_share, behind_us, gap_us,
    compute_us, link_us, earlier_us, clock_trace_id, clock_offset_us, clock_residual_us,
    unaligned_reason,
    CASE WHEN is_late THEN _delay_cause(gap_us, compute_us, link_us, earlier_us) END AS cause,
    CASE WHEN is_last AND cost_us > coalesce(clock_residual_us, 0) THEN cost_us ELSE 0 END
        AS own_us,
    greatest(earlier_us, 0) - brought_us AS own_earlier_us
FROM calls
ASOF LEFT JOIN started
    ON started.trace_id = calls.trace_id
    AND started.device = calls.device
    AND started.start_ns <= calls.start_ns;
