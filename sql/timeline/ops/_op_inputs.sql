-- The token, as in the table dtypes, of a framework's name for a type of elements.
CREATE MACRO _type_token(framework_type) AS
replace(replace(lower(framework_type), 'c10::', ''), ' int', '');

-- One row per trace and distinct call of a framework operator with a matching rule: its inputs,
-- parsed once.
--
-- stored: per trace
--
-- trace_id         VARCHAR    trace
-- work_id          UBIGINT    equal for calls of equal operator, shapes, types and arguments
-- op               VARCHAR    name of the operator
-- priority         INTEGER    the rule
-- needs_arguments  BOOLEAN    the rule looks at values of arguments
-- input_dims       VARCHAR    shapes of the inputs, JSON; NULL if missing
-- types            VARCHAR[]  types of the inputs, as tokens of dtypes
-- arguments        VARCHAR    values of the inputs, JSON, if the rule looks at them
-- stated_type      VARCHAR    value of the argument that may give the result another type; several
--                             if such calls differ in it alone
-- a                BIGINT[]   shape of the first operand that the rule names
-- b                BIGINT[]   shape of the second
-- v                BIGINT[]   shape of the third
-- o                BIGINT[]   shape of the result, if it is an input
-- a_type           VARCHAR    type of the first operand, as in dtypes
-- b_type           VARCHAR    type of the second
-- a_bytes          DOUBLE     bytes of an element of the first operand
-- b_bytes          DOUBLE     bytes of an element of the second
-- v_bytes          DOUBLE     bytes of an element of the third
CREATE VIEW _op_inputs AS
WITH names AS (
    SELECT DISTINCT name AS op
    FROM events
    WHERE lane = 'host' AND category = 'cpu_op'
),
ruled AS (
    SELECT op, min(priority) AS priority
    FROM names
    JOIN trace_op_rules ON regexp_matches(op, pattern)
    GROUP BY op
),
needs AS (
    SELECT
        op, priority, dtype_slot,
        coalesce(causal_slot, window_slot, stride_slot, transposed_slot) IS NOT NULL
            AS needs_arguments
    FROM ruled
    JOIN trace_op_rules USING (priority)
),
calls AS (
    SELECT DISTINCT
        e.trace_id, n.op, n.priority, n.needs_arguments, e.input_dims, e.input_types,
        CASE WHEN n.needs_arguments THEN e.args ->> '$."Concrete Inputs"' END AS arguments,
        CASE
            WHEN n.dtype_slot IS NOT NULL
                THEN _slot_text(e.args ->> '$."Concrete Inputs"', n.dtype_slot)
        END AS stated_type
    FROM events AS e
    JOIN needs AS n ON n.op = e.name
    WHERE e.lane = 'host' AND e.category = 'cpu_op'
),
typed AS (
    SELECT
        trace_id, work_id(op, input_dims, input_types, arguments) AS work_id, op, priority,
        needs_arguments, input_dims,
        list_transform(
            TRY_CAST(TRY_CAST(input_types AS JSON) AS VARCHAR[]), LAMBDA t: _type_token(t)
        ) AS types,
        arguments,
        CASE WHEN count(*) = 1 THEN any_value(stated_type) ELSE 'several' END AS stated_type
    FROM calls
    GROUP BY ALL
)
SELECT
    i.trace_id, i.work_id, i.op, i.priority, i.needs_arguments, i.input_dims, i.types, i.arguments,
    i.stated_type,
    _slot_dims(i.input_dims, r.a_slot) AS a, _slot_dims(i.input_dims, r.b_slot) AS b,
    _slot_dims(i.input_dims, r.v_slot) AS v, _slot_dims(i.input_dims, r.out_slot) AS o,
    ta.dtype AS a_type, tb.dtype AS b_type, ta.bytes AS a_bytes, tb.bytes AS b_bytes,
    tv.bytes AS v_bytes
FROM typed AS i
JOIN trace_op_rules AS r USING (priority)
LEFT JOIN dtypes AS ta ON ta.token = i.types[r.a_slot + 1]
LEFT JOIN dtypes AS tb ON tb.token = i.types[r.b_slot + 1]
LEFT JOIN dtypes AS tv ON tv.token = i.types[r.v_slot + 1];
