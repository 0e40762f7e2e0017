-- One row per counted device row of an Ascend trace with its launch and its operator.
--
-- Only a timeline shows launches. The row of a table takes over what its twin there shows, a
-- collective what the kernel shows that carried it out.
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
-- shapes_id       BIGINT   event_id of the innermost operator that says the shapes of its inputs
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
    -- The twin of a row, the row that carried it out, and that one's twin.
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
found AS (
    SELECT
        others.trace_id, others.kernel_id, _ascend_scopes.kind,
        arg_min(scope_id, row(others.distance, others.other_id)) AS scope_id
    FROM others
    JOIN _ascend_scopes
        ON _ascend_scopes.trace_id = others.trace_id AND _ascend_scopes.kernel_id = others.other_id
    GROUP BY others.trace_id, others.kernel_id, _ascend_scopes.kind
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
    SELECT DISTINCT trace_id, launch_id FROM scoped WHERE launch_id IS NOT NULL
),
launches AS (
    SELECT events.trace_id, event_id AS launch_id, start_ns, pid, tid
    FROM events
    SEMI JOIN wanted
        ON wanted.trace_id = events.trace_id AND wanted.launch_id = events.event_id
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
    scoped.shapes_id
FROM counted
LEFT JOIN correlated USING (trace_id, kernel_id)
LEFT JOIN scoped USING (trace_id, kernel_id)
LEFT JOIN launches
    ON launches.trace_id = counted.trace_id AND launches.launch_id = scoped.launch_id;
