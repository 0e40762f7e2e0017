-- One row per launch that shares no id with an operator: the innermost operator running on its
-- thread. Older profilers number launches and operators separately.
--
-- The depth of an operator is the number of operators running on its thread when it starts, itself
-- among them: +1 at each start, -1 at each end, a running sum. At a launch the same sum is the
-- depth of the innermost operator running: the latest one of this depth to have started.
CREATE VIEW _enclosing_operators AS
WITH alone AS (
    -- A number for the thread is narrower to sort and to join than its names.
    SELECT DISTINCT
        trace_id, launch_id AS event_id, launch_pid AS pid, launch_tid AS tid,
        hash(trace_id, launch_pid, launch_tid) AS thread_id, launch_ns AS at_ns
    FROM _launched
    WHERE op_id IS NULL AND launch_id IS NOT NULL
),
threads AS (
    SELECT DISTINCT trace_id, pid, tid, thread_id FROM alone
),
causes AS (
    -- Most operators launch nothing: the sweep covers only those around a launch.
    SELECT operators.thread_id, op_id, external_id, start_ns, end_ns
    FROM (
        SELECT thread_id, op_id, external_id, start_ns, end_ns
        FROM _operators
        JOIN threads USING (trace_id, pid, tid)
    ) AS operators
    ASOF JOIN alone
        ON alone.thread_id = operators.thread_id AND alone.at_ns >= operators.start_ns
    WHERE alone.at_ns < operators.end_ns
),
edges AS (
    -- At the same time, ends sort first, then starts, the longest first, then the launch. Of
    -- equally long operators the caller has the lower id: ids are assigned as operators start.
    SELECT
        thread_id, op_id AS event_id, end_ns AS at_ns, -1 AS step, 0 AS turn, 0 AS until_ns,
        external_id
    FROM causes
    UNION ALL
    SELECT thread_id, op_id, start_ns, 1, 1, -end_ns, external_id FROM causes
    UNION ALL
    SELECT thread_id, event_id, at_ns, 0, 2, 0, NULL FROM alone
),
swept AS (
    SELECT
        thread_id, event_id, at_ns, turn,
        sum(step) OVER (
            PARTITION BY thread_id
            ORDER BY at_ns, turn, until_ns, external_id, event_id
            ROWS UNBOUNDED PRECEDING
        ) AS depth
    FROM edges
),
starts AS (
    SELECT thread_id, depth, at_ns, event_id AS op_id FROM swept WHERE turn = 1
),
launches AS (
    SELECT thread_id, depth, at_ns, event_id AS launch_id FROM swept WHERE turn = 2
)
SELECT threads.trace_id, launches.launch_id, starts.op_id
FROM launches
ASOF JOIN starts
    ON starts.thread_id = launches.thread_id
    AND starts.depth = launches.depth
    AND starts.at_ns <= launches.at_ns
JOIN threads ON threads.thread_id = launches.thread_id;

-- One row per device operation with its launch, its operator and its category.
--
-- The category is XLA's own, unless that wraps what by its name is a collective, else by the
-- operator that launched the operation, if a rule of op_category_rules has it, else by the name. An
-- operator around the launch of a graph does not describe the graph's kernels. What copy engines
-- copy from device to peer device in the operator of a collective is communication.
--
-- stored: per trace
--
-- trace_id         VARCHAR  trace
-- kernel_id        BIGINT   event_id of the operation
-- device           INTEGER  device
-- stream           BIGINT   stream
-- start_ns         BIGINT   start, ns
-- dur_ns           BIGINT   duration, ns
-- end_ns           BIGINT   end, ns
-- name             VARCHAR  full name
-- display_name     VARCHAR  name to show
-- op_type          VARCHAR  for Ascend, the op type
-- core             VARCHAR  for Ascend, the accelerator core
-- category         VARCHAR  category
-- kind             VARCHAR  compute, communication or memory
-- category_source  VARCHAR  hlo, operator, op_type or name; NULL if unknown
-- name_category    VARCHAR  category by the name alone
-- is_contradicted  BOOLEAN  the operator's category differs from the name's, and the name's is
--                           neither vaguer nor a step of the operator
-- correlation      BIGINT   id shared with the launch
-- launch_id        BIGINT   event_id of the launch
-- launch_kernels   BIGINT   operations of the same launch
-- launch_ns        BIGINT   start of the launch, ns
-- launch_pid       VARCHAR  process of the launch
-- launch_tid       VARCHAR  thread of the launch
-- op_id            BIGINT   event_id of the operator
-- op_name          VARCHAR  name of the operator
-- input_dims       VARCHAR  shapes of its own inputs if it has them, else of the operator's,
--                           JSON
-- input_types      VARCHAR  types of the same inputs, JSON
-- issued_by        BIGINT   event_id of the operator, if that and not the launch shows where on
--                           the host it was issued, see _launched and _ascend_launched
-- issued_ns        BIGINT   start of that operator, ns
-- issued_pid       VARCHAR  process of that operator
-- issued_tid       VARCHAR  thread of that operator
CREATE VIEW _kernels AS
WITH traced AS (
    SELECT
        _launched.trace_id, kernel_id, correlation, launch_id, launch_kernels, launch_ns,
        launch_pid, launch_tid, coalesce(_launched.op_id, _enclosing_operators.op_id) AS op_id,
        coalesce(_launched.op_id, _enclosing_operators.op_id) AS shapes_id,
        issued_by, issued_ns, issued_pid, issued_tid
    FROM _launched
    LEFT JOIN _enclosing_operators USING (trace_id, launch_id)
    UNION ALL
    SELECT
        trace_id, kernel_id, correlation, launch_id, launch_kernels, launch_ns, launch_pid,
        launch_tid, op_id, shapes_id, issued_by, issued_ns, issued_pid, issued_tid
    FROM _ascend_launched
),
named AS (
    SELECT trace_id, op_id FROM traced WHERE op_id IS NOT NULL
    UNION
    SELECT trace_id, shapes_id FROM traced WHERE shapes_id IS NOT NULL
),
causes AS (
    -- Most operators launch nothing; their shapes need not be gathered.
    SELECT trace_id, event_id AS op_id, name AS op_name, input_dims, input_types
    FROM events
    SEMI JOIN named ON named.trace_id = events.trace_id AND named.op_id = events.event_id
    WHERE lane = 'host' AND category = 'cpu_op'
),
op_names AS (
    SELECT op_name, min(_op_category_rule(op_name)) AS priority
    FROM (SELECT DISTINCT op_name FROM causes)
    GROUP BY op_name
),
op_rules AS (
    SELECT
        op_names.op_name, rules.category, rules.kind,
        string_split(coalesce(rules.keeps, ''), ';') AS keeps,
        string_split(coalesce(rules.helpers, ''), ';') AS helpers
    FROM op_names
    JOIN op_category_rules AS rules USING (priority)
),
op_categories AS (
    -- By the operator, for each category that its kernels have by their names.
    SELECT
        op_rules.op_name, names.category AS name_category, op_rules.category, op_rules.kind,
        names.category NOT IN (op_rules.category, 'other')
            AND NOT list_contains(op_rules.helpers, names.category) AS is_contradicted
    FROM op_rules
    CROSS JOIN (
        SELECT category FROM category_rules WHERE kind = 'compute' UNION SELECT 'other'
    ) AS names
    WHERE NOT (
        list_contains(op_rules.keeps, names.category)
        OR list_contains(op_rules.keeps, '*') AND names.category <> 'other'
    )
    UNION ALL
    -- A collective may leave the transfer to the copy engines.
    SELECT op_name, 'memcpy', category, kind, FALSE FROM op_rules WHERE kind = 'communication'
)
SELECT
    _operations.trace_id,
    _operations.kernel_id,
    _operations.device,
    _operations.stream,
    _operations.start_ns,
    _operations.dur_ns,
    _operations.end_ns,
    _operations.name,
    _kernel_names.display_name,
    _operations.op_type,
    _operations.core,
    CASE
        WHEN hlo.category IS NOT NULL THEN hlo.category
        WHEN hlo.kind <> _kernel_names.kind THEN 'other'
        ELSE coalesce(by_op.category, _kernel_names.category)
    END AS category,
    coalesce(hlo.kind, by_op.kind, _kernel_names.kind) AS kind,
    CASE
        WHEN hlo.category IS NOT NULL THEN 'hlo'
        WHEN by_op.category IS NOT NULL THEN 'operator'
        WHEN _kernel_names.category = 'other' OR hlo.kind <> _kernel_names.kind THEN NULL
        WHEN _operations.core_group IS NOT NULL THEN 'op_type'
        ELSE 'name'
    END AS category_source,
    _kernel_names.category AS name_category,
    coalesce(by_op.is_contradicted, FALSE) AS is_contradicted,
    traced.correlation,
    traced.launch_id,
    traced.launch_kernels,
    traced.launch_ns,
    traced.launch_pid,
    traced.launch_tid,
    traced.op_id,
    causes.op_name,
    coalesce(_operations.input_dims, shaped.input_dims) AS input_dims,
    if(
        _operations.input_dims IS NULL, shaped.input_types, _operations.input_types
    ) AS input_types,
    traced.issued_by,
    traced.issued_ns,
    traced.issued_pid,
    traced.issued_tid
FROM _operations
ANTI JOIN offloaded_operations USING (trace_id, kernel_id)
JOIN traced USING (trace_id, kernel_id)
JOIN _kernel_names
    ON _kernel_names.trace_id = _operations.trace_id
    AND _kernel_names.called IS NOT DISTINCT FROM _operations.called
    AND _kernel_names.core_group IS NOT DISTINCT FROM _operations.core_group
LEFT JOIN _hlo_operations AS hlo
    ON hlo.trace_id = _operations.trace_id AND hlo.kernel_id = _operations.kernel_id
    -- What a wrapper runs is in its name.
    AND (hlo.is_wrapper IS NOT TRUE OR _kernel_names.kind <> 'communication')
LEFT JOIN causes
    ON causes.trace_id = traced.trace_id AND causes.op_id = traced.op_id
LEFT JOIN op_categories AS by_op
    ON by_op.op_name = causes.op_name
    AND by_op.name_category = _kernel_names.category
    -- The type of an Ascend operation is better evidence than the operator around it.
    AND _operations.core_group IS NULL
    AND CASE
        WHEN _kernel_names.kind = 'compute' THEN coalesce(traced.launch_kernels, 1) = 1
        -- One call may launch many copies: to each peer.
        ELSE contains(_operations.name, 'PtoP')
    END
LEFT JOIN causes AS shaped
    ON shaped.trace_id = traced.trace_id AND shaped.op_id = traced.shapes_id;
