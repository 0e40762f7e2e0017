-- One row per rank of a run: what its device does in a step, how long it waits for others, and how
-- often others wait for it, and why. Means are over its steady steps, or over all steps if none is
-- steady; those of waits are over the steps whose waits are known.
--
-- In every step some rank is last. A rank gets a verdict if the others wait for it for more than a
-- hundredth of the step, and more than by chance: of 20 runs of equal ranks at most one has such a
-- rank (Bonferroni). Either it is waited for longest in too many steps (binomial tail), or the time
-- by which it falls behind the others by itself shows it (student_quantiles): its mean against its
-- spread over the steps or, with more ranks than steps, against the spread of the other ranks. So
-- two slow ranks, each waited for in half of the steps, do not hide each other; that time must then
-- be half of what the others wait. A few steps cannot show the first even if they all agree, such
-- as 3 of 4 ranks: the second decides alone. Captures of a rank that are too short to be judged by
-- their steps are judged together.
--
-- Only waits that no work hides count, see collective_delays. Clocks are aligned on the ends of
-- collectives, see collective_ranks; ranks whose clocks nothing aligns are not compared. A link
-- that is slow for a whole group is not blamed on a rank: a rank's slow link shows where a
-- collective ends later on it than on the others. Waits are among the ranks that the lake has: if
-- one of a group is missing, the others may have waited longer, and for that one.
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
-- waiting_ms                DOUBLE   mean exposed wait for others in the collectives of a step, ms;
--                                    NULL, like the next two, if none has a partner
-- waited_for_ms             DOUBLE   mean exposed wait of each of the others for it in a step, ms
-- waited_for_pct            DOUBLE   the same by the median step_ms of the others, %
-- waited_for_steps          BIGINT   steps in which it is the rank waited for longest
-- late_start_steps          BIGINT   of these, because of a late start: see rank_waits
-- slow_compute_steps        BIGINT   because it computed longer
-- slow_link_steps           BIGINT   because the previous collective ended later on it
-- earlier_call_steps        BIGINT   because it arrived late from another group's collective, of
--                                    which the lake has no other device
-- verdict                   VARCHAR  the cause with the most steps; as the others; or cannot tell,
--                                    if no collective has a partner, or if it is as the others and
--                                    a rank of their group is missing, the steps are too few for
--                                    what it is waited for, or the clocks too uncertain
-- doubt_reason              VARCHAR  too few steps, too uncertain clocks, or a clock so far off
--                                    that the trace may be of another run; NULL if none of these
-- calls                     BIGINT   collectives that the lake has from other devices too, on
--                                    clocks that can be compared
-- unpaired_calls            BIGINT   all others
-- unpaired_reason           VARCHAR  reasons, with their counts
-- missing_reason            VARCHAR  which ranks of its groups the lake does not have; NULL if it
--                                    has all, if it has no other rank of the run, or if the trace
--                                    does not list the ranks and no call has a partner
-- clock_offset_us           DOUBLE   its clock minus that of the first rank that it is compared
--                                    with, µs
-- clock_residual_us         DOUBLE   largest uncertainty of the clocks of its calls, µs
CREATE VIEW ranks AS
WITH parts AS MATERIALIZED (
    SELECT
        run, trace_id, coalesce(CAST(rank AS VARCHAR), trace_id) AS member, device, call, kind,
        sequence, process_group, group_ranks, group_size,
        group_size_source, participants, exposed_waiting_us, clock_trace_id, clock_offset_us,
        unaligned_reason
    FROM _rank_calls
),
counted AS MATERIALIZED (
    SELECT
        run, trace_id, rank, device, step_us, compute_us, exposed_communication_us, idle_us, calls,
        waiting_us, waited_for_us, is_waited_for, own_behind_us, cause, clock_residual_us,
        unresolved_us, compared_ranks
    FROM rank_steps
    QUALIFY is_steady OR NOT bool_or(is_steady) OVER (PARTITION BY trace_id)
),
clocks AS (
    SELECT
        trace_id, device, any_value(clock_trace_id) AS clock_trace_id,
        any_value(clock_offset_us) AS clock_offset_us
    FROM parts
    GROUP BY trace_id, device
),
devices AS (
    SELECT run, count(DISTINCT (trace_id, device)) AS devices FROM parts GROUP BY run
),
grouped AS (
    SELECT
        trace_id, device, run, participants, process_group, group_ranks, group_size,
        group_size_source
    FROM parts
    WHERE kind <> 'send-recv'
),
groups AS MATERIALIZED (
    SELECT
        trace_id, device, run, process_group, group_ranks, group_size, group_size_source, is_alone,
        reason
    FROM incomplete_groups(grouped)
),
reasons AS (
    SELECT
        parts.trace_id, parts.device,
        CASE
            WHEN unaligned_reason IS NOT NULL THEN unaligned_reason
            WHEN devices = 1 THEN 'the lake has no other rank of the run'
            WHEN kind = 'send-recv' THEN 'messages between two ranks'
            WHEN is_alone THEN 'no other rank of the group is in the lake'
            WHEN sequence IS NULL THEN 'without a number, and in another order on the other ranks'
            WHEN min(parts.trace_id) OVER of_rank <> max(parts.trace_id) OVER of_rank
                THEN 'several captures of this rank show these calls'
            ELSE 'with a number that no other rank has'
        END AS reason
    FROM parts
    JOIN devices USING (run)
    LEFT JOIN groups
        ON groups.trace_id = parts.trace_id
        AND groups.device = parts.device
        AND groups.process_group IS NOT DISTINCT FROM parts.process_group
        AND groups.group_ranks IS NOT DISTINCT FROM parts.group_ranks
        AND groups.group_size = parts.group_size
        AND groups.group_size_source IS NOT DISTINCT FROM parts.group_size_source
    WHERE exposed_waiting_us IS NULL
    WINDOW of_rank AS (
        PARTITION BY
            run, member, parts.device, kind, parts.process_group, parts.group_ranks, sequence
    )
),
counted_reasons AS (
    SELECT trace_id, device, reason, count(*) AS calls
    FROM reasons
    GROUP BY trace_id, device, reason
),
unpaired AS (
    SELECT
        trace_id, device, CAST(sum(calls) AS BIGINT) AS calls,
        string_agg(
            concat(calls, if(calls = 1, ' call: ', ' calls: '), reason), '; '
            ORDER BY calls DESC, reason
        ) AS reason
    FROM counted_reasons
    GROUP BY trace_id, device
),
missing AS (
    SELECT
        trace_id, device, string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason
    FROM groups
    JOIN devices USING (run)
    WHERE devices > 1
    GROUP BY trace_id, device
),
summed AS (
    SELECT
        run, trace_id, any_value(rank) AS rank, device, count(*) AS steps,
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
        favg(unresolved_us) / 1000 AS unresolved_ms
    FROM counted
    GROUP BY run, trace_id, device
),
felt AS (
    SELECT
        run, trace_id, device,
        -- A late rank's own step is without its delay.
        100 * waited_for_ms / coalesce(median(step_ms) OVER others, step_ms) AS waited_for_pct,
        100 * max(unresolved_ms / step_ms) OVER (PARTITION BY run) AS unresolved_pct
    FROM summed
    WINDOW others AS (
        PARTITION BY run ORDER BY trace_id, device
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
    )
),
judged AS (
    SELECT
        felt.run, felt.trace_id, felt.device, waited_for_pct, unresolved_pct,
        coalesce(waited_for_pct > 1 AND is_significant, FALSE) AS is_straggler,
        CASE WHEN waited_for_pct > 1 AND has_few_steps AND is_significant IS NOT TRUE THEN format(
            '{} of {} ranks {} too few to tell a straggler from chance',
            if(steps = 1, '1 step', steps || ' steps'), ranks, if(steps = 1, 'is', 'are')
        ) END AS few_reason
    FROM felt
    LEFT JOIN _judged_ranks(counted) AS judged USING (trace_id, device)
),
doubted AS (
    SELECT
        judged.trace_id, judged.device, waited_for_pct, is_straggler, few_reason,
        CASE WHEN unresolved_pct > 1 AND NOT bool_or(is_straggler) OVER of_run THEN format(
            'clocks agree too little: waits for others of up to {:.1f} % of a step would not show',
            unresolved_pct
        ) END AS clock_reason,
        CASE
            WHEN own.base_time_ns IS NULL OR first.base_time_ns IS NULL THEN NULL
            WHEN abs(clock_offset_us) > 1e6 * 3600 THEN format(
                'a clock that is off by {:.1f} {}: perhaps a capture of another run',
                abs(clock_offset_us) / 1e6 / 3600 / if(abs(clock_offset_us) < 1e6 * 172800, 1, 24),
                if(abs(clock_offset_us) < 1e6 * 172800, 'hours', 'days')
            )
        END AS offset_reason,
        clock_offset_us
    FROM judged
    JOIN traces AS own ON own.trace_id = judged.trace_id
    LEFT JOIN clocks ON clocks.trace_id = judged.trace_id AND clocks.device = judged.device
    LEFT JOIN traces AS first ON first.trace_id = clocks.clock_trace_id
    WINDOW of_run AS (PARTITION BY judged.run)
)
SELECT
    summed.run, summed.rank, traces.trace, summed.trace_id, summed.device, steps, step_ms,
    compute_ms, exposed_communication_ms, idle_ms,
    CASE WHEN summed.calls > 0 THEN waiting_ms END AS waiting_ms,
    CASE WHEN summed.calls > 0 THEN waited_for_ms END AS waited_for_ms,
    CASE WHEN summed.calls > 0 THEN waited_for_pct END AS waited_for_pct,
    waited_for_steps, late_start_steps, slow_compute_steps, slow_link_steps,
    earlier_call_steps,
    CASE
        WHEN summed.calls = 0 THEN 'cannot tell'
        WHEN is_straggler AND cause IS NOT NULL THEN cause
        WHEN coalesce(missing.reason, few_reason, clock_reason) IS NOT NULL THEN 'cannot tell'
        ELSE 'as the others'
    END AS verdict,
    nullif(concat_ws('; ', few_reason, clock_reason, offset_reason), '') AS doubt_reason,
    summed.calls, coalesce(unpaired.calls, 0) AS unpaired_calls,
    unpaired.reason AS unpaired_reason, missing.reason AS missing_reason,
    clock_offset_us, clock_residual_us
FROM summed
JOIN traces ON traces.trace_id = summed.trace_id
JOIN doubted ON doubted.trace_id = summed.trace_id AND doubted.device = summed.device
LEFT JOIN unpaired
    ON unpaired.trace_id = summed.trace_id AND unpaired.device = summed.device
LEFT JOIN missing
    ON missing.trace_id = summed.trace_id AND missing.device = summed.device;
