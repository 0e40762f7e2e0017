-- One row per operation of a trace, by program, name and shape: how often it runs and how long, on
-- one device in one steady step of the main program, or on one device in the whole trace if it has
-- no steady step: the mean of step_op_times.
--
-- key: trace_id, program?, op?, shape?, family
--
-- trace_id     VARCHAR  trace
-- program      VARCHAR  compiled program, NULL if there are none
-- op           VARCHAR  name shared by the copies of the operation
-- shape        VARCHAR  shapes of its results; of its operator's inputs if there is no compiled
--                       program
-- family       VARCHAR  family by family_rules, else the kernel category
-- basis        VARCHAR  steady step or whole trace
-- calls        DOUBLE   calls
-- self_us      DOUBLE   their own time, µs
-- flop         DOUBLE   their floating-point operations, of the calls where they are known, see ops
-- known_calls  DOUBLE   number of these calls
CREATE VIEW step_ops AS
SELECT
    trace_id, program, op, shape, family, any_value(basis) AS basis,
    sum(calls) / any_value(steps) AS calls,
    sum(self_us) / any_value(steps) AS self_us,
    sum(flop) / any_value(steps) AS flop,
    sum(known_calls) / any_value(steps) AS known_calls
FROM step_op_times
GROUP BY trace_id, program, op, shape, family;
