-- One row per device row of an Ascend timeline that an arrow from the host ends on: where on the
-- host it begins.
CREATE VIEW _ascend_arrows AS
WITH shown AS (
    SELECT trace_id, kernel_id, pid, tid, start_ns FROM _ascend_rows WHERE source = 'timeline'
),
traced AS (
    SELECT DISTINCT trace_id FROM shown
),
ends AS (
    SELECT trace_id, ph, category, id, pid, tid, start_ns, event_id
    FROM events
    SEMI JOIN traced USING (trace_id)
    WHERE
        lane = 'flow'
        AND category IN ('hosttodevice', 'async_npu')
        AND ph IN ('s', 'f')
        AND id IS NOT NULL
),
tails AS (
    -- An arrow may seem to end before it begins, as the clocks of host and device differ. If a
    -- number is reused, the latest arrow that begins at most a millisecond later counts.
    SELECT
        trace_id, category, id, tid, start_ns, event_id,
        if(count(*) OVER (PARTITION BY trace_id, category, id) = 1, 0, start_ns - 1000000)
            AS from_ns
    FROM ends
    WHERE ph = 's'
),
heads AS (
    SELECT
        ends.trace_id, shown.kernel_id, category, id, ends.start_ns
    FROM ends
    JOIN shown
        ON shown.trace_id = ends.trace_id
        AND shown.pid = ends.pid
        AND shown.tid = ends.tid
        AND shown.start_ns = ends.start_ns
    WHERE ph = 'f'
)
SELECT
    heads.trace_id, heads.kernel_id, if(heads.category = 'async_npu', 'operator', 'call') AS kind,
    tails.tid, tails.start_ns AS at_ns
FROM heads
ASOF JOIN tails
    ON tails.trace_id = heads.trace_id
    AND tails.category = heads.category
    AND tails.id = heads.id
    AND tails.from_ns <= heads.start_ns
QUALIFY row_number() OVER (
    PARTITION BY heads.trace_id, heads.kernel_id, heads.category
    ORDER BY tails.start_ns, tails.event_id
) = 1;

-- One row per device row of an Ascend database and kind of scope on the host: the runtime's call
-- whose connection it has, and the operator that has it too.
--
-- A call's number is unique; of several operators with that number the last to begin is used.
CREATE VIEW _ascend_connected AS
WITH rows_of_tables AS (
    SELECT trace_id, kernel_id FROM _ascend_rows WHERE source = 'csv'
),
numbered AS (
    SELECT events.trace_id, event_id AS kernel_id, args ->> '$.connection_id' AS number
    FROM events
    SEMI JOIN rows_of_tables
        ON rows_of_tables.trace_id = events.trace_id AND rows_of_tables.kernel_id = events.event_id
    WHERE lane = 'device' AND args ->> '$.connection_id' IS NOT NULL
),
wanted AS (
    SELECT DISTINCT trace_id FROM numbered
),
hosts AS (
    SELECT
        trace_id, event_id AS scope_id, start_ns,
        if(category = 'cann', 'call', 'operator') AS kind, input_dims,
        unnest(
            if(
                category = 'cann', [args ->> '$.connection_id'],
                list_distinct(CAST(args -> '$.connections' AS VARCHAR []))
            )
        ) AS number
    FROM events
    SEMI JOIN wanted USING (trace_id)
    WHERE lane = 'host' AND category IN ('cann', 'cpu_op')
),
joined AS (
    SELECT numbered.trace_id, kernel_id, kind, scope_id, start_ns, input_dims
    FROM numbered
    JOIN hosts USING (trace_id, number)
)
SELECT trace_id, kernel_id, kind, arg_max(scope_id, row(start_ns, scope_id)) AS scope_id
FROM joined
GROUP BY trace_id, kernel_id, kind
UNION ALL
SELECT trace_id, kernel_id, 'shaped', arg_max(scope_id, row(start_ns, scope_id))
FROM joined
WHERE kind = 'operator' AND input_dims IS NOT NULL
GROUP BY trace_id, kernel_id;

-- One row per device row of an Ascend timeline and kind of scope: the innermost scope running on
-- the host where its arrow begins.
--
-- Scopes are found by depth, as in _enclosing_operators, separately for each kind. If no arrow
-- leads to an operator, the place of the runtime's call is used; for a call on a thread that only
-- drains a queue, the place where the work was enqueued.
CREATE VIEW _ascend_scopes AS
WITH arrows AS (
    SELECT trace_id, kernel_id, kind, tid, at_ns FROM _ascend_arrows
),
traced AS (
    SELECT DISTINCT trace_id FROM arrows
),
call_lines AS (
    SELECT trace_id, pid, tid FROM _lines SEMI JOIN traced USING (trace_id) WHERE role = 'call'
),
queue_events AS (
    SELECT
        trace_id, category, tid, start_ns, end_ns, event_id,
        json_extract_string(args, '$.correlation_id') AS number
    FROM events
    SEMI JOIN traced USING (trace_id)
    WHERE lane = 'host' AND category IN ('enqueue', 'dequeue') AND dur_ns IS NOT NULL
),
taken AS (
    SELECT trace_id, tid, start_ns, end_ns, number FROM queue_events WHERE category = 'dequeue'
),
put AS (
    SELECT trace_id, number, arg_min(tid, event_id) AS tid, arg_min(start_ns, event_id) AS at_ns
    FROM queue_events
    WHERE category = 'enqueue' AND number IS NOT NULL
    GROUP BY trace_id, number
),
without_operator AS (
    SELECT trace_id, kernel_id, tid, at_ns FROM arrows WHERE kind = 'call'
    EXCEPT
    SELECT calls.trace_id, calls.kernel_id, calls.tid, calls.at_ns
    FROM arrows AS calls
    JOIN arrows AS named USING (trace_id, kernel_id)
    WHERE calls.kind = 'call' AND named.kind = 'operator'
),
taken_by AS (
    SELECT
        without_operator.trace_id, kernel_id, without_operator.tid, at_ns,
        if(at_ns <= taken.end_ns, taken.number, NULL) AS number
    FROM without_operator
    ASOF LEFT JOIN taken
        ON taken.trace_id = without_operator.trace_id
        AND taken.tid = without_operator.tid
        AND taken.start_ns <= without_operator.at_ns
),
places AS (
    SELECT trace_id, kernel_id, kind, tid, at_ns FROM arrows
    UNION ALL
    SELECT
        taken_by.trace_id, kernel_id, 'operator', coalesce(put.tid, taken_by.tid),
        coalesce(put.at_ns, taken_by.at_ns)
    FROM taken_by
    LEFT JOIN put USING (trace_id, number)
),
moments AS (
    SELECT trace_id, kernel_id, kind, tid, at_ns FROM places
    UNION ALL
    SELECT trace_id, kernel_id, 'shaped', tid, at_ns FROM places WHERE kind = 'operator'
),
threads AS (
    SELECT DISTINCT trace_id, kind, tid FROM moments
),
candidates AS (
    SELECT trace_id, 'call' AS kind, event_id, tid, start_ns, end_ns
    FROM events
    SEMI JOIN call_lines USING (trace_id, pid, tid)
    WHERE lane = 'host' AND dur_ns > 0
    UNION ALL
    SELECT
        trace_id, unnest(if(input_dims IS NULL, ['operator'], ['operator', 'shaped'])), event_id,
        tid, start_ns, end_ns
    FROM events
    SEMI JOIN traced USING (trace_id)
    WHERE lane = 'host' AND category = 'cpu_op' AND dur_ns > 0
),
scopes AS (
    SELECT trace_id, kind, event_id, tid, start_ns, end_ns
    FROM candidates
    SEMI JOIN threads USING (trace_id, kind, tid)
),
edges AS (
    -- At the same time, ends sort first, then starts, the longest first, then the arrow.
    SELECT
        trace_id, kind, tid, event_id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns
    FROM scopes
    UNION ALL
    SELECT trace_id, kind, tid, event_id, start_ns, 1, 1, -end_ns FROM scopes
    UNION ALL
    SELECT trace_id, kind, tid, kernel_id, at_ns, 0, 2, 0 FROM moments
),
swept AS (
    SELECT
        trace_id, kind, tid, event_id, at_ns, turn,
        CAST(sum(step) OVER (
            PARTITION BY trace_id, kind, tid
            ORDER BY at_ns, turn, until_ns, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS depth
    FROM edges
),
starts AS (
    SELECT trace_id, kind, tid, depth, at_ns, event_id AS scope_id FROM swept WHERE turn = 1
),
arrivals AS (
    SELECT trace_id, kind, tid, depth, at_ns, event_id AS kernel_id FROM swept WHERE turn = 2
)
SELECT arrivals.trace_id, arrivals.kernel_id, arrivals.kind, starts.scope_id
FROM arrivals
ASOF JOIN starts
    ON starts.trace_id = arrivals.trace_id
    AND starts.kind = arrivals.kind
    AND starts.tid = arrivals.tid
    AND starts.depth = arrivals.depth
    AND starts.at_ns <= arrivals.at_ns;

-- One row per counted device row of an Ascend trace with its launch and its operator.
--
-- A timeline shows launches by arrows, a database by numbers. The row of a table inherits the
-- launch of its twin there, a collective that of the kernel that executed it. With torch_npu's task
-- queue, an operator only enqueues its work: another thread makes the call, up to milliseconds
-- later.
--
-- rows: of ascend traces
--
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id of the operation
-- correlation     BIGINT   id shared with the launch
-- launch_id       BIGINT   event_id of the launch
-- launch_kernels  BIGINT   operations of the same launch
-- launch_ns       BIGINT   start of the launch, ns
-- launch_pid      VARCHAR  process of the launch
-- launch_tid      VARCHAR  thread of the launch
-- op_id           BIGINT   event_id of the operator
-- shapes_id       BIGINT   event_id of the innermost operator that has the shapes of its inputs
-- issued_by       BIGINT   event_id of the operator, if it runs on another thread than the launch
--                          or the launch is unknown
-- issued_ns       BIGINT   start of that operator, ns
-- issued_pid      VARCHAR  process of that operator
-- issued_tid      VARCHAR  thread of that operator
CREATE VIEW _ascend_launched AS
WITH counted AS (
    SELECT trace_id, kernel_id, correlation FROM _operations WHERE source IS NOT NULL
),
pairs AS (
    SELECT trace_id, kernel_id AS other_id, twin_id AS kernel_id
    FROM _ascend_pairs
    WHERE twin_id IS NOT NULL
),
others AS (
    -- The twin of a row, the row that executed it, and the twin of that row.
    SELECT trace_id, kernel_id, kernel_id AS other_id, 0 AS distance FROM counted
    UNION ALL
    SELECT trace_id, kernel_id, other_id, 1 FROM counted JOIN pairs USING (trace_id, kernel_id)
    UNION ALL
    SELECT trace_id, counted.kernel_id, beyond.other_id, 2
    FROM counted
    JOIN pairs USING (trace_id, kernel_id)
    JOIN pairs AS beyond
        ON beyond.trace_id = pairs.trace_id AND beyond.kernel_id = pairs.other_id
),
reached AS (
    SELECT trace_id, kernel_id, kind, scope_id FROM _ascend_scopes
    UNION ALL
    SELECT trace_id, kernel_id, kind, scope_id FROM _ascend_connected
),
found AS (
    SELECT
        others.trace_id, others.kernel_id, reached.kind,
        arg_min(scope_id, row(others.distance, others.other_id)) AS scope_id
    FROM others
    JOIN reached
        ON reached.trace_id = others.trace_id AND reached.kernel_id = others.other_id
    GROUP BY others.trace_id, others.kernel_id, reached.kind
),
correlated AS (
    SELECT
        others.trace_id, others.kernel_id,
        arg_min(_ascend_rows.correlation, row(others.distance, others.other_id)) AS correlation
    FROM others
    JOIN _ascend_rows
        ON _ascend_rows.trace_id = others.trace_id AND _ascend_rows.kernel_id = others.other_id
    WHERE _ascend_rows.correlation IS NOT NULL
    GROUP BY others.trace_id, others.kernel_id
),
scoped AS (
    SELECT
        trace_id, kernel_id,
        any_value(scope_id) FILTER (kind = 'call') AS launch_id,
        any_value(scope_id) FILTER (kind = 'operator') AS op_id,
        any_value(scope_id) FILTER (kind = 'shaped') AS shapes_id
    FROM found
    GROUP BY trace_id, kernel_id
),
wanted AS (
    SELECT trace_id, launch_id AS event_id FROM scoped WHERE launch_id IS NOT NULL
    UNION
    SELECT trace_id, op_id FROM scoped WHERE op_id IS NOT NULL
),
hosts AS (
    SELECT events.trace_id, events.event_id, start_ns, pid, tid
    FROM events
    SEMI JOIN wanted
        ON wanted.trace_id = events.trace_id AND wanted.event_id = events.event_id
    WHERE lane = 'host'
)
SELECT
    counted.trace_id,
    counted.kernel_id,
    correlated.correlation,
    scoped.launch_id,
    CASE
        WHEN scoped.launch_id IS NOT NULL
            THEN count(*) OVER (PARTITION BY counted.trace_id, scoped.launch_id)
    END AS launch_kernels,
    launches.start_ns AS launch_ns,
    launches.pid AS launch_pid,
    launches.tid AS launch_tid,
    scoped.op_id,
    scoped.shapes_id,
    operators.event_id AS issued_by,
    operators.start_ns AS issued_ns,
    operators.pid AS issued_pid,
    operators.tid AS issued_tid
FROM counted
LEFT JOIN correlated USING (trace_id, kernel_id)
LEFT JOIN scoped USING (trace_id, kernel_id)
LEFT JOIN hosts AS launches
    ON launches.trace_id = counted.trace_id AND launches.event_id = scoped.launch_id
LEFT JOIN hosts AS operators
    ON operators.trace_id = counted.trace_id AND operators.event_id = scoped.op_id
    AND (operators.pid, operators.tid) IS DISTINCT FROM (launches.pid, launches.tid);
