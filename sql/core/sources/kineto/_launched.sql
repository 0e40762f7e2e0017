-- One row per host call that launched something. A call seen twice (the driver's inside the
-- runtime's) is one row, the outer. Ids are unique within a process. If calls that do not lie in
-- one another, give or take the microseconds of older clocks, have the same id, as in files merged
-- from several ranks or recordings, the launch is ambiguous and linked to no operation.
CREATE VIEW _launches AS
SELECT
    trace_id, correlation, scope, is_mixed OR call.end_ns + 2000 < end_ns AS is_shared,
    call.event_id AS launch_id, call.external_id, call.start_ns AS launch_ns,
    call.pid AS launch_pid, call.tid AS launch_tid
FROM (
    SELECT
        trace_id,
        correlation,
        _scope(pid) AS scope,
        coalesce(min(pid) <> max(pid), FALSE) AS is_mixed,
        max(end_ns) AS end_ns,
        arg_min(
            {
                'event_id': event_id, 'external_id': external_id, 'start_ns': start_ns,
                'end_ns': end_ns, 'pid': pid, 'tid': tid
            },
            (start_ns, -end_ns, event_id)
        ) AS call
    FROM events
    WHERE
        lane = 'host' AND correlation IS NOT NULL AND dur_ns IS NOT NULL
        AND coalesce(category, '') NOT IN (
            SELECT category FROM event_categories WHERE role <> 'call'
        )
    GROUP BY trace_id, correlation, scope
);

-- One row per device operation with its launch, and the operator that shares an id with either;
-- those of Ascend are in _ascend_launched.
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id of the operation
-- correlation     BIGINT   id shared with the launch
-- launch_id       BIGINT   event_id of the launch
-- launch_kernels  BIGINT   operations of the same launch
-- launch_ns       BIGINT   start of the launch, ns
-- launch_pid      VARCHAR  process of the launch
-- launch_tid      VARCHAR  thread of the launch
-- op_id           BIGINT   event_id of the operator
-- issued_by       BIGINT   the same if the launch is unknown: it shows where it was issued
-- issued_ns       BIGINT   start of that operator, ns
-- issued_pid      VARCHAR  process of that operator
-- issued_tid      VARCHAR  thread of that operator
CREATE VIEW _launched AS
WITH launches AS (
    SELECT * FROM _launches
),
shared AS (
    SELECT trace_id, correlation, scope FROM launches WHERE is_shared
),
found AS (
    SELECT
        _operations.trace_id,
        _operations.kernel_id,
        _operations.correlation,
        _operations.scope,
        launches.launch_id,
        launches.launch_ns,
        launches.launch_pid,
        launches.launch_tid,
        -- Older profilers give a call's correlation as the operation's external id too: only a call
        -- that lies in an operator of this id shows that it is the operator's.
        CASE
            WHEN shared.trace_id IS NULL AND (
                launches.launch_id IS NOT NULL
                OR _operations.external_id IS DISTINCT FROM _operations.correlation
            )
                THEN coalesce(_operations.external_id, launches.external_id)
        END AS external_id,
        CASE
            WHEN launches.launch_id IS NOT NULL THEN count(*) OVER same_launch
        END AS launch_kernels
    FROM _operations
    LEFT JOIN launches
        ON launches.trace_id = _operations.trace_id
        AND launches.correlation = _operations.correlation
        AND launches.scope = _operations.scope
        AND NOT launches.is_shared
    LEFT JOIN shared
        ON shared.trace_id = _operations.trace_id
        AND shared.correlation = _operations.correlation
        AND shared.scope = _operations.scope
    WHERE _operations.source IS NULL
    WINDOW same_launch AS (
        PARTITION BY _operations.trace_id, _operations.correlation, _operations.scope
    )
),
identified AS (
    SELECT
        found.trace_id, found.kernel_id, min(_operators.op_id) AS op_id,
        arg_min(
            {'ns': _operators.start_ns, 'pid': _operators.pid, 'tid': _operators.tid},
            _operators.op_id
        ) FILTER (found.launch_id IS NULL) AS issued
    FROM found
    JOIN _operators
        ON _operators.trace_id = found.trace_id
        AND _operators.external_id = found.external_id
        -- If launches and operators are numbered separately, an operator that does not enclose the
        -- launch belongs to another one.
        AND coalesce(found.launch_ns BETWEEN _operators.start_ns AND _operators.end_ns, TRUE)
        AND _scope(_operators.pid) = found.scope
    GROUP BY found.trace_id, found.kernel_id
)
SELECT
    trace_id, kernel_id, correlation, launch_id, launch_kernels, launch_ns, launch_pid, launch_tid,
    op_id, CASE WHEN launch_id IS NULL THEN op_id END AS issued_by, issued.ns AS issued_ns,
    issued.pid AS issued_pid, issued.tid AS issued_tid
FROM found
LEFT JOIN identified USING (trace_id, kernel_id);
