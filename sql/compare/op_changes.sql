-- One row per operation of two traces beside each other, for one device and one steady step, or for
-- one device and the whole trace if they have no steps; operations with the same program, name and
-- shape are the same.
--
-- `FROM op_changes(before, after)` with the ids of two traces.
--
-- program       VARCHAR  compiled program, NULL if there are none
-- op            VARCHAR  name shared by the copies of the operation
-- shape         VARCHAR  shapes
-- before_calls  DOUBLE   calls in the first trace
-- after_calls   DOUBLE   calls in the second trace
-- before_us     DOUBLE   own time in the first trace, µs
-- after_us      DOUBLE   own time in the second trace, µs
-- change_us     DOUBLE   after minus before; an operation missing from a trace counts as 0, µs
-- change_pct    DOUBLE   the same over before, %; NULL if the first trace lacks it
CREATE MACRO op_changes(of_before, of_after) AS TABLE
SELECT
    coalesce(b.program, a.program) AS program, coalesce(b.op, a.op) AS op,
    coalesce(b.shape, a.shape) AS shape, coalesce(b.calls, 0) AS before_calls,
    coalesce(a.calls, 0) AS after_calls, coalesce(b.self_us, 0) AS before_us,
    coalesce(a.self_us, 0) AS after_us,
    coalesce(a.self_us, 0) - coalesce(b.self_us, 0) AS change_us,
    100 * (coalesce(a.self_us, 0) - b.self_us) / nullif(b.self_us, 0) AS change_pct
FROM (
    -- Copies of one operation may be of several families.
    SELECT program, op, shape, sum(calls) AS calls, sum(self_us) AS self_us
    FROM step_ops
    WHERE trace_id = of_before
    GROUP BY program, op, shape
) AS b
FULL JOIN (
    SELECT program, op, shape, sum(calls) AS calls, sum(self_us) AS self_us
    FROM step_ops
    WHERE trace_id = of_after
    GROUP BY program, op, shape
) AS a
    ON a.op = b.op
    AND a.program IS NOT DISTINCT FROM b.program
    AND a.shape IS NOT DISTINCT FROM b.shape;
