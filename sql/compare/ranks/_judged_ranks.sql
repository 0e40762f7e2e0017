-- One row per device of a trace that has partners in its run: whether the others wait for it more
-- than by chance.
--
-- `FROM _judged_ranks(counted)` with a relation, or a CTE of the query, of one row per device and
-- step, with the columns run, trace_id, rank, device, calls, compared_ranks, waited_for_us,
-- is_waited_for and own_behind_us of rank_steps. Steps whose waits are unknown do not count.
-- Captures of a rank that are too short to be judged by the number of steps are judged as one.
--
-- If all ranks are equal, each is waited for longest in one of n steps, and is so in k of m steps
-- with a probability of the binomial tail. Where even m of m steps leave more than 2.5 % for any of
-- the n ranks, Student's test of own_behind_us decides: against its spread over the steps or, if
-- that has fewer degrees of freedom, against the spread of the other ranks' means. In more steps
-- either test shows it, each at 2.5 %: of several slow ranks a step waits longest for one, so that
-- none has most steps. What Student's test shows there must be half of what the others wait for the
-- rank, also beyond the median rank: with one fast rank all others are behind the mean.
--
-- trace_id        VARCHAR  trace
-- device          INTEGER  device
-- steps           BIGINT   steps that count
-- ranks           BIGINT   ranks and devices that are compared
-- has_few_steps   BOOLEAN  the number of steps for which it is waited for can show nothing
-- is_significant  BOOLEAN  chance explains it in at most 5 of 100 runs of equal ranks; NULL if too
--                          few to tell
CREATE MACRO _judged_ranks(counted) AS TABLE
WITH captures AS (
    SELECT
        any_value(run) AS run, trace_id, device,
        CASE
            WHEN any_value(rank) IS NULL
                OR favg(1 / compared_ranks) ** count(*) <= 0.025 * favg(1 / compared_ranks)
                THEN trace_id
            ELSE CAST(any_value(rank) AS VARCHAR)
        END AS member
    FROM query_table(counted)
    WHERE own_behind_us IS NOT NULL
    GROUP BY trace_id, device
    HAVING sum(calls) > 0 AND max(compared_ranks) > 1
),
samples AS (
    SELECT
        captures.run, captures.member, captures.device, count(*) AS steps,
        count(*) FILTER (is_waited_for) AS waited_for_steps, favg(1 / compared_ranks) AS chance,
        favg(own_behind_us) AS behind_us, favg(waited_for_us) AS waited_for_us,
        stddev_samp(own_behind_us) / sqrt(count(*)) AS error_us
    FROM query_table(counted)
    JOIN captures USING (trace_id, device)
    WHERE own_behind_us IS NOT NULL
    GROUP BY captures.run, captures.member, captures.device
),
compared AS (
    SELECT
        run, member, device, steps, waited_for_steps, chance, behind_us, error_us,
        least(behind_us, behind_us - median(behind_us) OVER (PARTITION BY run)) AS lag_us,
        waited_for_us,
        count(*) OVER (PARTITION BY run) AS ranks, avg(behind_us) OVER others AS others_us,
        stddev_samp(behind_us) OVER others * sqrt(1 + 1 / count(*) OVER others) AS others_error_us,
        chance ** steps > 0.025 * chance AS has_few_steps,
        if(has_few_steps, 1, 2) * ranks AS terms
    FROM samples
    WINDOW others AS (
        PARTITION BY run ORDER BY member, device
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW
    )
),
quantiles AS (
    -- The next lower number of degrees of freedom, the next higher of terms.
    SELECT
        wanted.steps, wanted.ranks, wanted.terms,
        arg_max(quantile, (q.freedom, -q.terms)) AS quantile
    FROM (SELECT DISTINCT steps, ranks, terms FROM compared) AS wanted
    JOIN student_quantiles AS q
        ON q.freedom <= greatest(wanted.steps - 1, wanted.ranks - 2) AND q.terms >= wanted.terms
    GROUP BY wanted.steps, wanted.ranks, wanted.terms
),
tested AS (
    SELECT
        run, member, device, steps, ranks, has_few_steps, lag_us >= waited_for_us / 2 AS is_lagging,
        binomial_tail(waited_for_steps, steps, chance) <= 0.025 * chance AS is_often_waited_for,
        CASE
            WHEN steps - 1 >= ranks - 2
                THEN if(has_few_steps, behind_us, lag_us) > quantile * error_us
            ELSE behind_us - others_us > quantile * others_error_us
        END AS is_behind
    FROM compared
    LEFT JOIN quantiles USING (steps, ranks, terms)
)
SELECT
    trace_id, device, steps, ranks, has_few_steps,
    CASE
        WHEN has_few_steps THEN is_behind
        ELSE is_often_waited_for OR (is_lagging AND is_behind)
    END AS is_significant
FROM captures
JOIN tested USING (run, member, device);
