-- The path in the framework of an operation of XLA, from its arguments tf_op and name. On a GPU,
-- tf_op is the outermost annotation around the launch, which is that of the whole program
-- (XlaModule:), and name is the op_name of the instruction: a path, but for instructions that only
-- convert an argument of the program, which have the name of that.
CREATE MACRO framework_path(tf_op, op_name) AS
CASE
    WHEN tf_op IS DISTINCT FROM 'XlaModule:' THEN tf_op
    WHEN contains(op_name, '/') OR starts_with(op_name, 'jit(') THEN op_name
END;
