-- One row per device operation with its launch, its operator and its category.
--
-- Materialised per trace.
--
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id of the operation
-- device          INTEGER  device
-- stream          BIGINT   stream
-- start_ns        BIGINT   start, ns
-- dur_ns          BIGINT   duration, ns
-- end_ns          BIGINT   end, ns
-- name            VARCHAR  full name
-- display_name    VARCHAR  name to show
-- op_type         VARCHAR  for Ascend, the op type
-- core            VARCHAR  for Ascend, the accelerator core
-- category        VARCHAR  category
-- kind            VARCHAR  compute, communication or memory
-- correlation     BIGINT   id shared with the launch
-- launch_id       BIGINT   event_id of the launch
-- launch_kernels  BIGINT   operations of the same launch
-- launch_ns       BIGINT   start of the launch, ns
-- launch_pid      VARCHAR  process of the launch
-- launch_tid      VARCHAR  thread of the launch
-- op_id           BIGINT   event_id of the operator
-- op_name         VARCHAR  name of the operator
-- input_dims      VARCHAR  shapes of its own inputs where it says them, else of the operator's,
--                          JSON
-- input_types     VARCHAR  types of the same inputs, JSON
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
        ELSE _kernel_names.category
    END AS category,
    coalesce(hlo.kind, _kernel_names.kind) AS kind,
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
LEFT JOIN causes AS shaped
    ON shaped.trace_id = traced.trace_id AND shaped.op_id = traced.shapes_id;
