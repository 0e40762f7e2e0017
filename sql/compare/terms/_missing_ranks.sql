-- One row per comparison, side of it (own) and run: the ranks of which something is measured. The
-- traces of a side that have no run count as one run.
CREATE VIEW _compared_ranks AS
WITH measured AS (
    SELECT
        side, run, max(world_size) AS world_size,
        coalesce(list(DISTINCT rank) FILTER (rank IS NOT NULL), []) AS ranks,
        count(*) = count(rank) AS all_known
    FROM (SELECT DISTINCT side, trace_id FROM _side_blocks)
    JOIN traces USING (trace_id)
    GROUP BY side, run
),
pairs AS (
    SELECT side, baseline, unnest([baseline, side]) AS own FROM _comparison_pairs
)
SELECT pairs.side, baseline, own, run, world_size, ranks, all_known
FROM pairs
JOIN measured ON measured.side = own;

-- One row per comparison in which a run lacks ranks: its mean is not over what the other mean is
-- over, so that a difference may be that of the ranks.
--
-- A rank is missing if another run of the comparison has it or, beside a run with all ranks of its
-- job of several, if the job has it. So the same ranks of two runs can be compared, a job of 8
-- ranks with one of 4, and single traces. A run that both sides have ranks of was split on purpose,
-- and so were traces without a run, if no rank is on both sides.
--
-- side      VARCHAR  side
-- baseline  VARCHAR  side that it is compared with
-- message   VARCHAR  which ranks of which runs
CREATE VIEW _missing_ranks AS
WITH runs AS MATERIALIZED (
    SELECT
        side, baseline, own, world_size, ranks, all_known,
        count(DISTINCT own) OVER one_run > 1 AND (
            run IS NOT NULL
            OR sum(length(ranks)) OVER one_run
            = length(list_distinct(flatten(list(ranks) OVER one_run)))
        ) AS is_split,
        if(count(*) OVER (PARTITION BY side, baseline, own) = 1, own, coalesce(run, own)) AS name
    FROM _compared_ranks
    WINDOW one_run AS (PARTITION BY side, baseline, run)
    QUALIFY bool_or(length(ranks) > 1) OVER (PARTITION BY side, baseline)
),
expected AS (
    SELECT
        this.side, this.baseline, this.own, this.name, this.world_size, this.ranks,
        if(
            -- A job of more ranks than there are is not listed.
            length(this.ranks) > 1 AND this.world_size < 1 << 20
            AND bool_or(other.world_size > 1 AND length(other.ranks) = other.world_size),
            range(this.world_size), []
        ) || flatten(list(other.ranks) FILTER (
            coalesce(other.world_size = this.world_size, TRUE)
        )) AS expected
    FROM runs AS this
    JOIN runs AS other ON other.side = this.side AND other.baseline = this.baseline
    WHERE this.all_known AND NOT this.is_split
    GROUP BY this.side, this.baseline, this.own, this.name, this.world_size, this.ranks
),
lacking AS (
    SELECT
        side, baseline, own, name, world_size,
        list_sort(list_distinct(list_filter(
            expected,
            lambda one: one < coalesce(world_size, one + 1) AND NOT list_contains(ranks, one)
        ))) AS missing
    FROM expected
),
described AS (
    SELECT
        side, baseline,
        list(
            concat(
                if(length(missing) = 1, 'rank ', 'ranks '), array_to_string(missing[:3], ', '),
                ' and ' || nullif(greatest(length(missing) - 3, 0), 0) || ' more',
                ' of ' || world_size, if(length(missing) = 1, ' is', ' are'), ' missing in ',
                name
            )
            ORDER BY own = side, name
        ) AS messages
    FROM lacking
    WHERE length(missing) > 0
    GROUP BY side, baseline
)
SELECT
    side, baseline,
    concat_ws(
        '; ', array_to_string(messages[:3], '; '),
        nullif(greatest(length(messages) - 3, 0), 0) || ' more runs lack ranks'
    ) AS message
FROM described;
