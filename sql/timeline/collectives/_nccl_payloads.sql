-- One row per device operation launched by a group of NCCL's or RCCL's calls, with their kind and
-- data: NCCL attaches sizes and communicators to its ranges, a rocpd database has RCCL's calls.
--
-- Calls between ncclGroupStart and ncclGroupEnd are one group; a call outside any is a group by
-- itself. A call made inside of another one is part of it: RCCL's ncclAllToAll sends and receives.
-- The group's operation is launched inside the last of its ranges. If a group launches several
-- operations, it is unknown which call belongs to which: they have no data, and a kind only if all
-- of its calls have that.
--
-- trace_id       VARCHAR  trace
-- kernel_id      BIGINT   event_id of the operation
-- called         VARCHAR  a call of the group, in lower case without nccl; NULL if the calls have
--                         several kinds of collective_rules, or none
-- process_group  VARCHAR  communicator, NULL if the calls are of several
-- group_size     BIGINT   ranks in it, NULL if its creation is not in the trace
-- input_bytes    DOUBLE   input of the rank, bytes
-- output_bytes   DOUBLE   output of the rank, bytes; NULL if it follows from the ranks
CREATE VIEW _nccl_payloads AS
WITH ranges AS (
    SELECT
        trace_id, pid, tid, event_id, name, start_ns, end_ns,
        args ->> '$."NCCL communicator ID"' AS communicator,
        TRY_CAST(args ->> '$."No. of ranks"' AS BIGINT) AS ranks,
        TRY_CAST(args ->> '$."Message size [bytes]"' AS DOUBLE) AS bytes,
        CASE name WHEN 'ncclGroupStart' THEN 1 WHEN 'ncclGroupEnd' THEN -1 ELSE 0 END AS step
    FROM events
    WHERE lane = 'host' AND category = 'nccl' AND dur_ns IS NOT NULL
),
outermost AS (
    SELECT *
    FROM ranges
    WINDOW earlier AS (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, end_ns DESC, event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
    QUALIFY start_ns >= coalesce(max(end_ns) OVER earlier, start_ns)
),
communicators AS (
    SELECT trace_id, communicator, max(ranks) AS ranks
    FROM ranges
    WHERE ranks IS NOT NULL
    GROUP BY trace_id, communicator
),
levels AS (
    SELECT *, sum(step) OVER in_time AS level
    FROM outermost
    WINDOW in_time AS (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
    )
),
floored AS (
    -- An end whose start precedes the trace lowers the floor.
    SELECT *, least(0, min(level) OVER in_time) AS lowest
    FROM levels
    WINDOW in_time AS (
        PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
    )
),
numbered AS (
    SELECT
        *,
        count(CASE WHEN level - step <= lowest AND step >= 0 THEN 1 END) OVER (
            PARTITION BY trace_id, pid, tid ORDER BY start_ns, event_id ROWS UNBOUNDED PRECEDING
        ) AS nth
    FROM floored
),
kinds AS (
    SELECT calls.name, calls.called, arg_min(rules.kind, rules.priority) AS kind
    FROM (SELECT DISTINCT name, lower(replace(name, 'nccl', '')) AS called FROM numbered) AS calls
    JOIN collective_rules AS rules ON regexp_matches(calls.called, rules.pattern)
    GROUP BY calls.name, calls.called
),
grouped AS (
    SELECT
        trace_id, pid, tid, nth,
        CASE WHEN count(DISTINCT kinds.kind) = 1 THEN min(kinds.called) END AS called,
        CASE
            WHEN count(DISTINCT communicator) = 1 THEN any_value(communicator)
        END AS communicator,
        sum(bytes) FILTER (NOT regexp_matches(name, 'Recv|ReduceScatter')) AS input_bytes,
        sum(bytes) FILTER (NOT regexp_matches(name, 'Send|AllGather')) AS output_bytes
    FROM numbered
    LEFT JOIN kinds USING (name)
    GROUP BY trace_id, pid, tid, nth
    HAVING count(bytes) > 0 OR count(kinds.kind) > 0
),
launched AS (
    SELECT
        kernels.trace_id, kernels.kernel_id, numbered.pid, numbered.tid, numbered.nth,
        numbered.end_ns, kernels.issued_ns,
        count(*) OVER (
            PARTITION BY kernels.trace_id, numbered.pid, numbered.tid, numbered.nth
        ) AS operations
    FROM kernels
    ASOF JOIN numbered
        ON numbered.trace_id = kernels.trace_id
        AND numbered.pid = kernels.issued_pid
        AND numbered.tid = kernels.issued_tid
        AND numbered.start_ns <= kernels.issued_ns
    WHERE kernels.kind = 'communication' AND kernels.issued_ns <= numbered.end_ns
)
SELECT
    launched.trace_id, launched.kernel_id, grouped.called,
    CASE WHEN launched.operations = 1 THEN grouped.communicator END AS process_group,
    CASE WHEN launched.operations = 1 THEN communicators.ranks END AS group_size,
    CASE WHEN launched.operations = 1 THEN grouped.input_bytes END AS input_bytes,
    CASE WHEN launched.operations = 1 THEN grouped.output_bytes END AS output_bytes
FROM launched
JOIN grouped USING (trace_id, pid, tid, nth)
LEFT JOIN communicators
    ON communicators.trace_id = grouped.trace_id
    AND communicators.communicator = grouped.communicator;
