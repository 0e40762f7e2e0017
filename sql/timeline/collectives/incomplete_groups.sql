-- One row per device, group of ranks and source of its size, if no call of the group has all ranks
-- in the lake: which ranks are missing. A group of which the lake has calls from one device only is
-- here if some of its ranks have no trace in the lake; else the traces may show other parts of the
-- run.
--
-- `FROM incomplete_groups(parts)` with a relation, or a CTE of the query, of one row per collective
-- of a device, with the columns trace_id, device, run, participants (devices that the lake has of
-- the call), process_group, group_ranks, group_size and group_size_source.
--
-- A group whose size is taken from the whole job may be smaller: it is complete if the lake has
-- every rank of the job.
--
-- trace_id       VARCHAR  trace
-- device         INTEGER  device
-- run            VARCHAR  run
-- process_group  VARCHAR  name of the group, NULL if the trace has none
-- group_ranks    VARCHAR  its ranks, as the trace lists them
-- participants   BIGINT   devices that the lake has of a call, at most
-- group_size     BIGINT   ranks in the group
-- group_size_source  VARCHAR  where the size is from, see collectives
-- calls          BIGINT   collectives of the device in the group that the lake has from other
--                         devices too
-- is_alone       BOOLEAN  no other rank of the group is in the lake
-- reason         VARCHAR  which ranks are not in the lake, or how many of them no call has
CREATE MACRO incomplete_groups(parts) AS TABLE
WITH found AS (
    SELECT
        trace_id, device, run, process_group, group_ranks, group_size, group_size_source,
        CASE
            WHEN group_size_source = 'world size' AND group_size < 65536 THEN range(group_size)
            ELSE TRY_CAST(group_ranks AS BIGINT[])
        END AS members,
        max(participants) AS participants,
        count(*) FILTER (participants > 1) AS calls
    FROM query_table(parts)
    GROUP BY trace_id, device, run, process_group, group_ranks, group_size, group_size_source
    HAVING max(participants) < group_size
),
present AS (
    SELECT
        coalesce(run, trace_id) AS run, max(world_size) AS world_size,
        CASE WHEN count(*) = count(rank) THEN list(DISTINCT CAST(rank AS BIGINT)) END AS ranks
    FROM traces
    GROUP BY coalesce(run, trace_id)
),
-- The missing ranks are known if all ranks of the group are listed and those of all traces are
-- known.
compared AS (
    SELECT
        trace_id, device, run, process_group, group_ranks, participants, group_size,
        group_size_source, calls, present.world_size,
        CASE WHEN list_count(members) = group_size THEN list_sort(
            list_filter(members, lambda member: NOT list_contains(present.ranks, member))
        ) END AS absent
    FROM found
    LEFT JOIN present USING (run)
)
SELECT
    trace_id, device, run, process_group, group_ranks, participants, group_size, group_size_source,
    calls, participants = 1 AND coalesce(length(absent), 0) = group_size - 1 AS is_alone,
    CASE
        WHEN coalesce(length(absent), 0) = 0
            THEN format('no call has more than {} of the {} ranks', participants, group_size)
        ELSE concat(
            if(length(absent) = 1, 'rank ', 'ranks '), array_to_string(absent[:3], ', '),
            if(length(absent) > 3, format(' and {} more', length(absent) - 3), ''), ' of ',
            coalesce(CAST(world_size AS VARCHAR), 'a group of ' || group_size),
            if(length(absent) = 1, ' is', ' are'), ' not in the lake'
        )
    END AS reason
FROM compared
WHERE
    length(absent) > 0
    OR participants > 1 AND (group_size_source <> 'world size' OR absent IS NULL);
