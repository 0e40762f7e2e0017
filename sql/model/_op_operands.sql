-- One row per trace and distinct call of an operator with a rule for its FLOP: its operands.
-- trace_id   VARCHAR   trace
-- work_id    UBIGINT   the call
-- priority   INTEGER   the rule
-- a          BIGINT[]  shape of the first operand
-- b          BIGINT[]  shape of the second
-- v          BIGINT[]  shape of the third
-- o          BIGINT[]  shape of the result, where it is an input
-- a_type     VARCHAR   type of the first operand, as in dtypes
-- b_type     VARCHAR   type of the second
-- a_bytes    DOUBLE    bytes of an element of the first operand
-- b_bytes    DOUBLE    bytes of an element of the second
-- v_bytes    DOUBLE    bytes of an element of the third
-- arguments  VARCHAR   values of the inputs, JSON
CREATE VIEW _op_operands AS
SELECT
    i.trace_id, i.work_id, i.priority,
    _slot_dims(i.input_dims, r.a_slot) AS a, _slot_dims(i.input_dims, r.b_slot) AS b,
    _slot_dims(i.input_dims, r.v_slot) AS v, _slot_dims(i.input_dims, r.out_slot) AS o,
    ta.dtype AS a_type, tb.dtype AS b_type, ta.bytes AS a_bytes, tb.bytes AS b_bytes,
    tv.bytes AS v_bytes, i.arguments
FROM _op_inputs AS i
JOIN trace_op_rules AS r ON r.priority = i.priority AND r.family <> 'memory'
LEFT JOIN dtypes AS ta ON ta.token = i.types[r.a_slot + 1]
LEFT JOIN dtypes AS tb ON tb.token = i.types[r.b_slot + 1]
LEFT JOIN dtypes AS tv ON tv.token = i.types[r.v_slot + 1];
