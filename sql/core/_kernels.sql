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
-- category        VARCHAR  category
-- kind            VARCHAR  compute, communication or memory
-- correlation     BIGINT   id shared with the launch
-- launch_id       BIGINT   event_id of the launch
-- launch_kernels  BIGINT   operations of the same launch
-- op_id           BIGINT   event_id of the operator
-- op_name         VARCHAR  name of the operator
-- input_dims      VARCHAR  shapes of the operator's inputs, JSON
-- input_types     VARCHAR  types of the operator's inputs, JSON
CREATE VIEW _kernels AS
WITH launches AS (
    -- A launch seen twice (runtime and driver call) counts once, by the earlier row.
    SELECT
        trace_id,
        correlation,
        min(event_id) AS launch_id,
        arg_min(external_id, event_id) AS external_id,
        arg_min(start_ns, event_id) AS start_ns
    FROM events
    WHERE
        lane = 'host' AND correlation IS NOT NULL AND dur_ns IS NOT NULL
        AND category <> 'cpu_op'
    GROUP BY trace_id, correlation
),
operators AS (
    SELECT
        trace_id,
        external_id,
        min(event_id) AS op_id,
        arg_min(name, event_id) AS op_name,
        arg_min(input_dims, event_id) AS input_dims,
        arg_min(input_types, event_id) AS input_types,
        arg_min(start_ns, event_id) AS start_ns,
        arg_min(end_ns, event_id) AS end_ns
    FROM events
    WHERE lane = 'host' AND category = 'cpu_op' AND external_id IS NOT NULL
    GROUP BY trace_id, external_id
),
launched AS (
    SELECT
        _operations.*,
        launches.launch_id,
        launches.start_ns AS launch_ns,
        coalesce(_operations.external_id, launches.external_id) AS operator_id,
        CASE
            WHEN launches.launch_id IS NOT NULL THEN count(*) OVER same_launch
        END AS launch_kernels
    FROM _operations
    LEFT JOIN launches USING (trace_id, correlation)
    WINDOW same_launch AS (PARTITION BY _operations.trace_id, _operations.correlation)
)
SELECT
    launched.trace_id,
    launched.kernel_id,
    launched.device,
    launched.stream,
    launched.start_ns,
    launched.dur_ns,
    launched.end_ns,
    launched.name,
    _kernel_names.display_name,
    _kernel_names.category,
    _kernel_names.kind,
    launched.correlation,
    launched.launch_id,
    launched.launch_kernels,
    operators.op_id,
    operators.op_name,
    operators.input_dims,
    operators.input_types
FROM launched
JOIN _kernel_names
    ON _kernel_names.trace_id = launched.trace_id
    AND _kernel_names.name IS NOT DISTINCT FROM launched.name
LEFT JOIN operators
    ON operators.trace_id = launched.trace_id
    AND operators.external_id = launched.operator_id
    -- Where launches and operators are numbered apart, an operator that does not enclose the
    -- launch is another's.
    AND coalesce(launched.launch_ns BETWEEN operators.start_ns AND operators.end_ns, TRUE);
