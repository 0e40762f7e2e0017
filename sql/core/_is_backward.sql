-- Whether a name of the host is that of a backward function of PyTorch: the engine's own call of
-- it, or the function, whose class ends in Backward and a number.
CREATE MACRO _is_backward(name) AS
starts_with(name, 'autograd::engine::evaluate_function: ')
OR regexp_matches(name, '^[\w:<>]*Backward\d*$') AND NOT starts_with(name, 'aten::');
