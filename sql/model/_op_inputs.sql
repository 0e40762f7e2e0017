-- One row per trace and distinct call of an operator that a rule fits: its inputs, read once.
-- trace_id    VARCHAR    trace
-- work_id     UBIGINT    equal for calls of equal operator, shapes, types and arguments
-- op          VARCHAR    name of the operator
-- priority    INTEGER    the rule
-- input_dims  VARCHAR    shapes of the inputs, JSON
-- types       VARCHAR[]  types of the inputs, as tokens of dtypes
-- arguments   VARCHAR    values of the inputs, JSON, where the rule looks at them
CREATE VIEW _op_inputs AS
WITH calls AS (
    SELECT DISTINCT
        e.trace_id, n.op, n.priority, e.input_dims, e.input_types,
        CASE WHEN n.needs_arguments THEN e.args ->> '$."Concrete Inputs"' END AS arguments
    FROM events AS e
    JOIN _op_names AS n ON n.trace_id = e.trace_id AND n.op = e.name
    WHERE e.lane = 'host' AND e.category = 'cpu_op' AND e.input_dims IS NOT NULL
)
SELECT
    trace_id, _work_id(op, input_dims, input_types, arguments) AS work_id, op, priority,
    input_dims,
    list_transform(
        TRY_CAST(TRY_CAST(input_types AS JSON) AS VARCHAR[]), LAMBDA t: _type_token(t)
    ) AS types,
    arguments
FROM calls;
