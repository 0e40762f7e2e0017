-- A number for the work of a framework operator, with the trace the key of operator_works: equal
-- for equal operators, shapes, types, and arguments if its rule uses them, else NULL.
CREATE MACRO work_id(op, input_dims, input_types, arguments) AS
hash(op, input_dims, input_types, arguments);
