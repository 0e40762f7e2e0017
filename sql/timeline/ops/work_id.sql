-- A number for the work of a framework operator, the key of operator_works beside the trace: equal
-- for equal operators, shapes, types, and arguments where its rule looks at them, else NULL.
CREATE MACRO work_id(op, input_dims, input_types, arguments) AS
hash(op, input_dims, input_types, arguments);
