-- One row per call of a collective that the lake has from several devices, on clocks that can be
-- compared: which one the others waited for, and why it arrived late.
--
-- The time behind is the sum of gap_us, compute_us, link_us and earlier_us; the largest is the
-- cause: late start (the device had nothing to do, or began later), slow compute, slow link (the
-- previous collective ended later on it than on the others), earlier call (the previous collective
-- was another group's, or has no partner, and was late itself). Below the clocks' residual there is
-- no cause.
--
-- key: run, call
--
-- run                VARCHAR  run, or the trace's id where none was given
-- call               VARCHAR  the call, as in collective_ranks
-- kind               VARCHAR  kind of collective
-- trace_id           VARCHAR  trace of the device that arrived last
-- rank               INTEGER  its rank, NULL if unknown
-- device             INTEGER  its device
-- step_id            BIGINT   its step, NULL before the first
-- collective_id      BIGINT   its part of the call, as in collectives
-- arrival_ns         BIGINT   its start on the clock of the first rank that it is compared with,
--                             ns
-- others_waited_us   DOUBLE   sum of the others' waits for it, µs
-- behind_us          DOUBLE   its start after the mean start of the others, µs
-- gap_us             DOUBLE   of that, time without computing since the previous collective, µs
-- compute_us         DOUBLE   of that, computing, µs
-- link_us            DOUBLE   of that, the transfer of the previous collective, µs
-- earlier_us         DOUBLE   of that, the arrival of all at the previous collective, µs
-- clock_residual_us  DOUBLE   largest uncertainty of the clocks of the call, µs
-- cause              VARCHAR  late start, slow compute, slow link or earlier call; NULL if
--                             behind_us is within the residual
CREATE VIEW rank_waits AS
SELECT
    run, call, kind, trace_id, rank, device, step_id, collective_id, arrival_ns,
    others_waited_us, behind_us, gap_us, compute_us, link_us, earlier_us,
    clock_residual_us, cause
FROM _rank_calls
WHERE is_last;
