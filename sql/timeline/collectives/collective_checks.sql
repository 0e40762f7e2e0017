-- One row per check and trace with collectives. Can they be matched across ranks, and what is their
-- size?
--
-- key: trace_id, check
--
-- trace_id   VARCHAR  trace
-- check      VARCHAR  name of the check
-- severity   VARCHAR  as in check_rules if the value reaches the threshold, else ok
-- value      DOUBLE   what was measured
-- unit       VARCHAR  what the value counts, or percent
-- threshold  DOUBLE   lowest value at which the severity is not ok
-- message    VARCHAR  what was found, what it means and what to do
CREATE VIEW collective_checks AS
WITH devices AS (
    SELECT run, count(*) AS devices
    FROM (SELECT DISTINCT run, trace_id, device FROM _collective_matches)
    GROUP BY run
),
parts AS MATERIALIZED (
    SELECT
        trace_id, matches.device, run, matched_by, process_group, group_ranks, group_size,
        group_size_source, count(*) OVER (PARTITION BY run, call) AS participants
    FROM _collective_matches AS matches
    JOIN collectives USING (trace_id, collective_id)
),
groups AS MATERIALIZED (
    SELECT
        trace_id, device, process_group, group_ranks, participants, group_size, group_size_source,
        calls, is_alone, reason
    FROM incomplete_groups(parts)
),
incomplete AS (
    SELECT
        trace_id, sum(calls) AS collectives_incomplete,
        string_agg(DISTINCT reason, '; ' ORDER BY reason) AS reason
    FROM groups
    WHERE participants > 1
    GROUP BY trace_id
),
singles AS (
    SELECT
        parts.trace_id, matched_by,
        devices = 1 OR coalesce(groups.is_alone, FALSE) AS is_alone
    FROM parts
    JOIN devices USING (run)
    LEFT JOIN groups
        ON groups.trace_id = parts.trace_id
        AND groups.device = parts.device
        AND groups.process_group IS NOT DISTINCT FROM parts.process_group
        AND groups.group_ranks IS NOT DISTINCT FROM parts.group_ranks
        AND groups.group_size = parts.group_size
        AND groups.group_size_source IS NOT DISTINCT FROM parts.group_size_source
    WHERE parts.participants = 1
),
matched AS (
    SELECT
        trace_id,
        count(*) FILTER (is_alone) AS collectives_alone,
        count(*) FILTER (NOT is_alone AND matched_by = 'order') AS collectives_unnumbered,
        count(*) FILTER (NOT is_alone AND matched_by <> 'order') AS collectives_unmatched
    FROM singles
    GROUP BY trace_id
),
sized AS (
    SELECT
        trace_id,
        count(*) FILTER (kind = 'send-recv') AS collectives_point_to_point,
        100.0 * count(*) FILTER (bytes IS NULL) / count(*) AS collectives_unsized,
        100.0 * count(*) FILTER (group_size IS NULL AND kind <> 'send-recv') / count(*)
            AS collectives_of_unknown_group,
        100.0 * count(*) FILTER (group_size_source = 'world size') / count(*)
            AS collectives_of_the_world
    FROM collectives
    GROUP BY trace_id
),
measures AS (
    SELECT
        trace_id,
        coalesce(collectives_alone, 0) AS collectives_alone,
        coalesce(collectives_incomplete, 0) AS collectives_incomplete,
        coalesce(collectives_unnumbered, 0) AS collectives_unnumbered,
        coalesce(collectives_unmatched, 0) AS collectives_unmatched,
        collectives_point_to_point, collectives_unsized, collectives_of_unknown_group,
        collectives_of_the_world
    FROM sized
    LEFT JOIN matched USING (trace_id)
    LEFT JOIN incomplete USING (trace_id)
)
SELECT
    trace_id, "check", severity, value, unit, threshold,
    if("check" = 'collectives_incomplete', concat(message, ' (' || reason || ')'), message)
        AS message
FROM judged_checks(measures)
LEFT JOIN incomplete USING (trace_id);
