-- One row per rank of a run: what its device does in a step, how long it waits for others, and how
-- often others wait for it, and why. Means are over its steady steps, or over all steps if none is
-- steady.
--
-- In every step some rank is last. A rank gets a verdict if the others wait for it in more steps
-- than by chance, by two standard deviations, and for at least a hundredth of the step. Clocks are
-- aligned on the ends of collectives, see collective_ranks; ranks whose clocks nothing aligns are
-- not compared. All captures of a rank are judged together. A link that is slow for a whole group
-- is not blamed on a rank: a rank's slow link shows where a collective ends later on it than on the
-- others. Waits are among the ranks that the lake has: if one of a group is missing, the others may
-- have waited longer, and for that one.
--
-- key: trace_id, device
--
-- run                       VARCHAR  run, or the trace's id where none was given
-- rank                      INTEGER  rank in the job, NULL if unknown
-- trace                     VARCHAR  name of its trace
-- trace_id                  VARCHAR  trace
-- device                    INTEGER  device
-- steps                     BIGINT   steps that count
-- step_ms                   DOUBLE   median time of a step, ms
-- compute_ms                DOUBLE   mean time of a step in which it computes, ms
-- exposed_communication_ms  DOUBLE   in which it communicates and does not compute, ms
-- idle_ms                   DOUBLE   in which nothing runs, or only waits, ms
-- waiting_ms                DOUBLE   mean wait for others in the collectives of a step, ms; NULL,
--                                    like the next, if none has a partner
-- waited_for_ms             DOUBLE   mean wait of each of the others for it in a step, ms
-- waited_for_steps          BIGINT   steps in which it is the rank waited for longest
-- late_start_steps          BIGINT   of these, because of a late start: see rank_waits
-- slow_compute_steps        BIGINT   because it computed longer
-- slow_link_steps           BIGINT   because the previous collective ended later on it
-- earlier_call_steps        BIGINT   because it arrived late from another group's collective, of
--                                    which the lake has no other device
-- verdict                   VARCHAR  the cause with the most steps; as the others; or cannot tell,
--                                    if no collective has a partner, or if it is as the others and
--                                    a rank of their group is missing
-- calls                     BIGINT   collectives that the lake has from other devices too, on
--                                    clocks that can be compared
-- unpaired_calls            BIGINT   all others
-- unpaired_reason           VARCHAR  reasons, with their counts
-- missing_reason            VARCHAR  which ranks of its groups the lake does not have; NULL if it
--                                    has all, or no call with a partner
-- clock_offset_us           DOUBLE   its clock minus that of the first rank that it is compared
--                                    with, µs
-- clock_residual_us         DOUBLE   largest uncertainty of the clocks of its calls, µs
CREATE VIEW ranks AS
WITH parts AS MATERIALIZED (
    SELECT
        run, trace_id, device, call, kind, sequence, process_group, group_ranks, group_size,
        group_size_source, participants, waiting_us, clock_offset_us, unaligned_reason
    FROM _rank_calls
),
counted AS (
    SELECT
        run, trace_id, rank, device, step_us, compute_us, exposed_communication_us, idle_us, calls,
        waiting_us, waited_for_us, is_waited_for, cause, clock_residual_us, compared_ranks
    FROM rank_steps
    QUALIFY is_steady OR NOT bool_or(is_steady) OVER (PARTITION BY trace_id)
),
clocks AS (
    SELECT trace_id, device, any_value(clock_offset_us) AS clock_offset_us
    FROM parts
    GROUP BY trace_id, device
),
devices AS (
    SELECT run, count(DISTINCT (trace_id, device)) AS devices FROM parts GROUP BY run
),
reasons AS (
    SELECT
        trace_id, device,
        CASE
            WHEN unaligned_reason IS NOT NULL THEN unaligned_reason
            WHEN devices = 1 THEN 'the lake has no other rank of the run'
            WHEN kind = 'send-recv' THEN 'messages between two ranks'
            WHEN sequence IS NULL THEN 'without a number, and in another order on the other ranks'
            ELSE 'with a number that no other rank has'
        END AS reason,
        count(*) AS calls
    FROM parts
    JOIN devices USING (run)
    WHERE waiting_us IS NULL
    GROUP BY trace_id, device, reason
),
unpaired AS (
    SELECT
        trace_id, device, CAST(sum(calls) AS BIGINT) AS calls,
        string_agg(concat(calls, ' calls: ', reason), '; ' ORDER BY calls DESC, reason) AS reason
    FROM reasons
    GROUP BY trace_id, device
),
missing AS (
    SELECT
        trace_id, device, string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason
    FROM incomplete_groups(parts)
    GROUP BY trace_id, device
),
summed AS (
    SELECT
        run, trace_id, any_value(rank) AS rank, device, count(*) AS steps,
        coalesce(CAST(any_value(rank) AS VARCHAR), trace_id) AS member,
        -- favg and fsum: last digits that do not depend on the order of rows.
        median(step_us) / 1000 AS step_ms, favg(compute_us) / 1000 AS compute_ms,
        favg(exposed_communication_us) / 1000 AS exposed_communication_ms,
        favg(idle_us) / 1000 AS idle_ms, favg(waiting_us) / 1000 AS waiting_ms,
        favg(waited_for_us) / 1000 AS waited_for_ms,
        count(*) FILTER (is_waited_for) AS waited_for_steps,
        count(*) FILTER (is_waited_for AND cause = 'late start') AS late_start_steps,
        count(*) FILTER (is_waited_for AND cause = 'slow compute') AS slow_compute_steps,
        count(*) FILTER (is_waited_for AND cause = 'slow link') AS slow_link_steps,
        count(*) FILTER (is_waited_for AND cause = 'earlier call') AS earlier_call_steps,
        mode(cause ORDER BY cause) FILTER (is_waited_for) AS cause,
        CAST(sum(calls) AS BIGINT) AS calls, max(clock_residual_us) AS clock_residual_us,
        fsum(1 / compared_ranks) AS expected_steps,
        fsum(1 / compared_ranks * (1 - 1 / compared_ranks)) AS variance
    FROM counted
    GROUP BY run, trace_id, device
)
SELECT
    summed.run, summed.rank, traces.trace, summed.trace_id, summed.device, steps, step_ms,
    compute_ms, exposed_communication_ms, idle_ms,
    CASE WHEN summed.calls > 0 THEN waiting_ms END AS waiting_ms,
    CASE WHEN summed.calls > 0 THEN waited_for_ms END AS waited_for_ms,
    waited_for_steps, late_start_steps, slow_compute_steps, slow_link_steps,
    earlier_call_steps,
    CASE
        WHEN summed.calls = 0 THEN 'cannot tell'
        WHEN
            sum(waited_for_steps) OVER of_rank
            > sum(expected_steps) OVER of_rank + 2 * sqrt(sum(variance) OVER of_rank)
            AND waited_for_ms > 0.01 * step_ms THEN cause
        WHEN missing.reason IS NOT NULL THEN 'cannot tell'
        ELSE 'as the others'
    END AS verdict,
    summed.calls, coalesce(unpaired.calls, 0) AS unpaired_calls,
    unpaired.reason AS unpaired_reason, missing.reason AS missing_reason,
    clock_offset_us, clock_residual_us
FROM summed
JOIN traces ON traces.trace_id = summed.trace_id
LEFT JOIN clocks ON clocks.trace_id = summed.trace_id AND clocks.device = summed.device
LEFT JOIN unpaired
    ON unpaired.trace_id = summed.trace_id AND unpaired.device = summed.device
LEFT JOIN missing
    ON missing.trace_id = summed.trace_id AND missing.device = summed.device
WINDOW of_rank AS (PARTITION BY summed.run, summed.member, summed.device);
