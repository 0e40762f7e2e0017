-- One row per rank of a run and step: what its device did, how long it waited for others, and how
-- long others waited for it. The rows of a run are a map of rank × step.
--
-- A collective belongs to the step of its device in which it began. A trace without steps is one
-- step, its whole window. A rank that comes late to a collective because one before, of another
-- group, kept it is not what the others wait for: that is for whom the one before waited. If a step
-- has collectives, and none of them can be compared, its waits are unknown.
--
-- key: trace_id, device, step_id
--
-- run                        VARCHAR  run, or the trace's id where none was given
-- trace_id                   VARCHAR  trace
-- rank                       INTEGER  rank in the job, NULL if unknown
-- device                     INTEGER  device
-- step_id                    BIGINT   step, as in steps
-- step                       BIGINT   number of the step, else step_id: the same on all ranks
-- is_steady                  BOOLEAN  neither warm-up nor cut off
-- step_us                    DOUBLE   its time on the device, µs; NULL without work
-- compute_us                 DOUBLE   time in which it computes, µs
-- exposed_communication_us   DOUBLE   time in which it communicates and does not compute, µs
-- idle_us                    DOUBLE   time in which none of its work runs, or only waits, µs
-- calls                      BIGINT   collectives in it that the lake has from other devices too,
--                                     on clocks that can be compared
-- waiting_us                 DOUBLE   sum of its waits in them for the last, as far as no work
--                                     hides them, µs; NULL, like the other waits, if it has
--                                     collectives and calls is 0
-- waited_for_us              DOUBLE   sum, over the calls to which it arrived last, of the mean
--                                     such wait of the others, without what an earlier call counts,
--                                     µs; 0 within the clocks' residual; NULL if unknown
-- is_waited_for              BOOLEAN  no other rank that it is compared with has more of it in the
--                                     step; NULL if unknown
-- compared_ranks             BIGINT   devices that show the step and whose clocks can be compared,
--                                     including itself
-- own_behind_us              DOUBLE   how far it falls behind the mean of the others by itself, the
--                                     sum over its calls: gap_us, compute_us and link_us of
--                                     collective_delays, and what of earlier_us no earlier call
--                                     counts, each times exposed_share, µs; negative if the others
--                                     fall behind; NULL if unknown
-- cause                      VARCHAR  the largest of these sums, named as in rank_waits; if
--                                     own_behind_us is less than half of waited_for_us, since it is
--                                     ahead in other calls, over the calls that count for
--                                     waited_for_us; NULL if that is 0 or NULL
-- clock_residual_us          DOUBLE   largest uncertainty of the clocks of these calls, µs
-- unresolved_us              DOUBLE   exposed time of its calls that could be waits that the clocks
--                                     do not show: at most clock_residual_us per call, µs; NULL if
--                                     unknown
CREATE VIEW rank_steps AS
WITH spans AS (
    SELECT
        trace_id, rank, device, step_id, coalesce(step_number, step_id) AS step, is_steady,
        dur_us AS step_us, compute_us, communication_us AS exposed_communication_us,
        idle_us + wait_us AS idle_us
    FROM step_states
    WHERE device >= 0
    UNION ALL
    SELECT
        trace_id, rank, device, 0, 0, TRUE, window_us, compute_us, exposed_communication_us,
        idle_us
    FROM time_breakdown
    ANTI JOIN step_states USING (trace_id, device)
),
parts AS (
    SELECT
        trace_id, device, coalesce(step_id, 0) AS step_id, count(exposed_waiting_us) AS calls,
        coalesce(fsum(exposed_waiting_us), 0) AS waiting_us, fsum(own_us) AS waited_for_us,
        coalesce(fsum(exposed_share * gap_us), 0) AS gap_us,
        coalesce(fsum(exposed_share * compute_us), 0) AS compute_us,
        coalesce(fsum(exposed_share * link_us), 0) AS link_us,
        coalesce(fsum(exposed_share * own_earlier_us), 0) AS earlier_us,
        fsum(exposed_share * gap_us) FILTER (own_us > 0) AS late_gap_us,
        fsum(exposed_share * compute_us) FILTER (own_us > 0) AS late_compute_us,
        fsum(exposed_share * link_us) FILTER (own_us > 0) AS late_link_us,
        fsum(exposed_share * own_earlier_us) FILTER (own_us > 0) AS late_earlier_us,
        max(clock_residual_us) AS clock_residual_us,
        fsum(least(exposed_us, clock_residual_us)) FILTER (clock_residual_us IS NOT NULL)
            AS unresolved_us,
        any_value(clock_trace_id) AS clock_trace_id
    FROM _rank_calls
    GROUP BY trace_id, device, coalesce(step_id, 0)
),
summed AS (
    SELECT
        trace_id, device, step_id, calls, waiting_us, waited_for_us, clock_residual_us,
        unresolved_us,
        gap_us + compute_us + link_us + earlier_us AS own_behind_us,
        CASE
            WHEN coalesce(waited_for_us, 0) <= 0 THEN NULL
            -- Behind in few of its calls: those count.
            WHEN own_behind_us < waited_for_us / 2
                THEN _delay_cause(late_gap_us, late_compute_us, late_link_us, late_earlier_us)
            ELSE _delay_cause(gap_us, compute_us, link_us, earlier_us)
        END AS cause
    FROM parts
),
clocks AS (
    SELECT trace_id, any_value(clock_trace_id) AS clock_trace_id FROM parts GROUP BY trace_id
)
SELECT
    coalesce(traces.run, spans.trace_id) AS run, spans.trace_id, spans.rank, spans.device,
    spans.step_id, step, is_steady, step_us, compute_us, exposed_communication_us, idle_us,
    CAST(coalesce(calls, 0) AS BIGINT) AS calls,
    if(calls = 0, NULL, coalesce(waiting_us, 0)) AS waiting_us,
    if(calls = 0, NULL, coalesce(waited_for_us, 0)) AS waited_for_us,
    if(calls = 0, NULL, coalesce(
        waited_for_us > 0 AND waited_for_us = max(waited_for_us) OVER (
            PARTITION BY coalesce(traces.run, spans.trace_id),
                coalesce(clock_trace_id, spans.trace_id), step
        ), FALSE
    )) AS is_waited_for,
    count(*) OVER (
        PARTITION BY coalesce(traces.run, spans.trace_id),
            coalesce(clock_trace_id, spans.trace_id), step
    ) AS compared_ranks,
    if(calls = 0, NULL, coalesce(own_behind_us, 0)) AS own_behind_us, cause, clock_residual_us,
    if(calls = 0, NULL, coalesce(unresolved_us, 0)) AS unresolved_us
FROM spans
JOIN traces ON traces.trace_id = spans.trace_id
LEFT JOIN clocks ON clocks.trace_id = spans.trace_id
LEFT JOIN summed
    ON summed.trace_id = spans.trace_id AND summed.device = spans.device
    AND summed.step_id = spans.step_id;
