-- One row per device operation with its launch, its operator and its category.
--
-- What XLA tells of an operation decides its category, else the operator that launched it, where a
-- rule of op_category_rules speaks of it, else its name. An operator around the launch of a graph
-- says nothing of the graph's kernels.
--
-- Materialised per trace.
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
-- category_source  VARCHAR  hlo, operator, op_type or name; NULL where nothing tells the category
-- name_category    VARCHAR  category by the name alone
-- is_contradicted  BOOLEAN  the operator's category is another than the name's, and the name's is
--                           neither vaguer nor a step of the operator
-- correlation      BIGINT   id shared with the launch
-- launch_id        BIGINT   event_id of the launch
-- launch_kernels   BIGINT   operations of the same launch
-- launch_ns        BIGINT   start of the launch, ns
-- launch_pid       VARCHAR  process of the launch
-- launch_tid       VARCHAR  thread of the launch
-- op_id            BIGINT   event_id of the operator
-- op_name          VARCHAR  name of the operator
-- input_dims       VARCHAR  shapes of its own inputs where it says them, else of the operator's,
--                           JSON
-- input_types      VARCHAR  types of the same inputs, JSON
CREATE VIEW _kernels AS
WITH traced AS (
    SELECT
        _launched.trace_id, kernel_id, correlation, launch_id, launch_kernels, launch_ns,
        launch_pid, launch_tid, coalesce(_launched.op_id, _enclosing_operators.op_id) AS op_id,
        coalesce(_launched.op_id, _enclosing_operators.op_id) AS shapes_id
    FROM _launched
    LEFT JOIN _enclosing_operators USING (trace_id, launch_id)
    UNION ALL
    SELECT
        trace_id, kernel_id, correlation, launch_id, launch_kernels, launch_ns, launch_pid,
        launch_tid, op_id, shapes_id
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
    ) AS input_types
FROM _operations
JOIN traced USING (trace_id, kernel_id)
JOIN _kernel_names
    ON _kernel_names.trace_id = _operations.trace_id
    AND _kernel_names.called IS NOT DISTINCT FROM _operations.called
    AND _kernel_names.core_group IS NOT DISTINCT FROM _operations.core_group
LEFT JOIN _hlo_operations AS hlo
    ON hlo.trace_id = _operations.trace_id AND hlo.kernel_id = _operations.kernel_id
LEFT JOIN causes
    ON causes.trace_id = traced.trace_id AND causes.op_id = traced.op_id
LEFT JOIN op_categories AS by_op
    ON by_op.op_name = causes.op_name
    AND by_op.name_category = _kernel_names.category
    AND _kernel_names.kind = 'compute'
    -- The type of an Ascend operation is known better than by the operator around it.
    AND _operations.core_group IS NULL
    AND coalesce(traced.launch_kernels, 1) = 1
LEFT JOIN causes AS shaped
    ON shaped.trace_id = traced.trace_id AND shaped.op_id = traced.shapes_id;
