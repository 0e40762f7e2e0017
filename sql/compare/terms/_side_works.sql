-- One row per side of a comparison and kind of work: its time in a step, the mean over the side's
-- steps, devices and runs.
--
-- Times are whole nanoseconds that sum to the rounded mean time of a step: each is the difference
-- of two rounded running sums.
--
-- side         VARCHAR  side
-- cost_id      BIGINT   kind of work, the same for equal ones of all sides
-- part         VARCHAR  part of a step, see step_costs
-- category     VARCHAR  category, see step_costs
-- module       VARCHAR  module, see step_costs
-- operator     VARCHAR  operator, see step_costs
-- shape        VARCHAR  shapes, see step_costs
-- kernel_name  VARCHAR  kernel, see step_costs
-- place        VARCHAR  place in a layer, see step_costs
-- step_ns      BIGINT   time in a step, ns
-- calls        DOUBLE   calls in a step
-- flop         DOUBLE   floating-point operations in a step, NULL unless all are known
-- bytes        DOUBLE   bytes in a step, NULL unless all are known
-- operator_calls  DOUBLE  calls of operators in a step, NULL unless all are known
CREATE VIEW _side_works AS
WITH summed AS (
    SELECT
        side, cost_id, any_value(part) AS part, any_value(category) AS category,
        any_value(module) AS module, any_value(operator) AS operator, any_value(shape) AS shape,
        any_value(kernel_name) AS kernel_name, any_value(place) AS place, sum(share_ns) AS share_ns,
        sum(calls) AS calls, if(count(flop) = count(*), sum(flop), NULL) AS flop,
        if(count(bytes) = count(*), sum(bytes), NULL) AS bytes,
        if(count(operator_calls) = count(*), sum(operator_calls), NULL) AS operator_calls
    FROM _side_costs
    GROUP BY side, cost_id
),
running AS (
    SELECT
        side, cost_id, part, category, module, operator, shape, kernel_name, place, calls, flop,
        bytes, operator_calls,
        TRY_CAST(round(sum(share_ns) OVER of_side) AS BIGINT) AS until_ns
    FROM summed
    WINDOW of_side AS (PARTITION BY side ORDER BY cost_id ROWS UNBOUNDED PRECEDING)
)
SELECT
    side, cost_id, part, category, module, operator, shape, kernel_name, place,
    until_ns - lag(until_ns, 1, 0) OVER (PARTITION BY side ORDER BY cost_id) AS step_ns, calls,
    flop, bytes, operator_calls
FROM running;
