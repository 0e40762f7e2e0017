-- A number for the work of an operator: equal for equal operators, shapes, types and arguments.
CREATE MACRO _work_id(op, input_dims, input_types, arguments) AS
hash(op, input_dims, input_types, arguments);
