-- One row per run and device that takes part in its collectives: how often the others waited for
-- it.
--
-- Calls whose clocks cannot be compared do not count. A device that arrives late because an earlier
-- call, of another group, delayed it caused nothing there: that cost belongs to the device that the
-- earlier call waited for.
--
-- key: trace_id, device
--
-- run                VARCHAR  run, or the trace's id where none was given
-- trace_id           VARCHAR  trace
-- rank               INTEGER  rank in the job, NULL if unknown
-- device             INTEGER  device
-- calls              BIGINT   collectives that the lake has from it and from another device
-- last_calls         BIGINT   of these, calls to which it arrived last
-- last_pct           DOUBLE   their share of calls, %
-- expected_pct       DOUBLE   the share if all arrived last equally often, %
-- is_often_last      BOOLEAN  it arrived last more often than by chance, to its calls or to the
--                             call with the longest waits of each of its steps (each at 2.5 % if it
--                             has steps): of 20 runs of equal devices at most one has such a device
-- mean_late_us       DOUBLE   mean of its start after the first, µs
-- caused_us          DOUBLE   sum, over the calls to which it arrived last, of its start after the
--                             second to last, without what it brought from an earlier call that the
--                             lake has from others too, and at most the mean of the others'
--                             exposed waits: what it alone cost the run, µs
-- waiting_us         DOUBLE   sum of its exposed waits for the last, see collective_delays, µs
-- clock_residual_us  DOUBLE   largest uncertainty of its clock, µs; below it lateness means nothing
CREATE VIEW stragglers AS
WITH calls AS (
    SELECT
        delays.run, delays.trace_id, delays.rank, delays.device, own.start_ns, participants,
        is_last, late_us, alone_us, behind_us, brought_us, others_waited_us,
        delays.exposed_waiting_us, delays.clock_residual_us,
        others_waited_us + delays.exposed_waiting_us AS waited_us
    FROM collective_delays AS delays
    JOIN collectives AS own
        ON own.trace_id = delays.trace_id AND own.collective_id = delays.collective_id
    WHERE unaligned_reason IS NULL
),
longest AS (
    SELECT
        calls.trace_id, calls.device,
        arg_max(participants, (waited_us, calls.start_ns)) AS participants,
        arg_max(is_last, (waited_us, calls.start_ns)) AS is_last
    FROM calls
    ASOF JOIN steps
        ON steps.trace_id = calls.trace_id
        AND steps.device = calls.device
        AND steps.start_ns <= calls.start_ns
    GROUP BY calls.trace_id, calls.device, steps.step_id
),
by_step AS (
    SELECT
        trace_id, device,
        binomial_tail(count(*) FILTER (is_last), count(*), avg(1 / participants))
        <= 0.025 * avg(1 / participants) AS is_often_last
    FROM longest
    GROUP BY trace_id, device
),
summed AS (
    SELECT
        run, trace_id, rank, device, count(*) AS calls, count(*) FILTER (is_last) AS last_calls,
        avg(1 / participants) AS chance, avg(late_us) AS mean_late_us,
        -- Times are whole nanoseconds, the means they are compared with are not.
        coalesce(sum(round(least(
            alone_us, greatest(behind_us - brought_us, 0), others_waited_us / (participants - 1)
        ), 3)), 0) AS caused_us,
        sum(exposed_waiting_us) AS waiting_us, max(clock_residual_us) AS clock_residual_us
    FROM calls
    GROUP BY run, trace_id, rank, device
)
SELECT
    run, trace_id, rank, device, calls, last_calls, 100 * last_calls / calls AS last_pct,
    100 * chance AS expected_pct,
    coalesce(is_often_last, FALSE) OR binomial_tail(last_calls, calls, chance)
    <= if(is_often_last IS NULL, 0.05, 0.025) * chance AS is_often_last,
    mean_late_us, caused_us, waiting_us, clock_residual_us
FROM summed
LEFT JOIN by_step USING (trace_id, device);
