-- One row per side of a comparison, replicate and kind of work: its contribution to the side's
-- mean, and the replicate's own mean. Means are per device and step; each run has equal weight.
--
-- stored: in memory
--
-- side         VARCHAR  side
-- replicate    VARCHAR  run or block of steps, see _side_blocks
-- cost_id      BIGINT   kind of work, the same number on all sides
-- part         VARCHAR  part of a step, see step_costs
-- category     VARCHAR  category, see step_costs
-- module       VARCHAR  module, see step_costs
-- operator     VARCHAR  operator, see step_costs
-- shape        VARCHAR  shapes, see step_costs
-- kernel_name  VARCHAR  kernel, see step_costs
-- place        VARCHAR  place in a layer, see step_costs
-- share_ns     DOUBLE   what it adds to the side's mean time of a step, ns
-- value_ns     DOUBLE   mean time in a step of this replicate, ns
-- calls        DOUBLE   what it adds to the side's mean calls in a step
-- flop         DOUBLE   the same of floating-point operations, NULL unless all are known
-- bytes        DOUBLE   the same of bytes, NULL unless all are known
-- operator_calls  DOUBLE  the same of calls of operators, NULL unless all are known
CREATE VIEW _side_costs AS
WITH blocks AS MATERIALIZED (
    SELECT side, trace_id, step_block, unit, units, replicate, samples FROM _side_blocks
),
unit_samples AS (
    SELECT side, unit, any_value(units) * sum(samples) AS weight FROM blocks GROUP BY side, unit
),
replicate_samples AS (
    SELECT side, replicate, sum(samples) AS samples FROM blocks GROUP BY side, replicate
)
SELECT
    blocks.side, blocks.replicate,
    dense_rank() OVER (ORDER BY part, category, module, operator, shape, kernel_name, place)
        AS cost_id,
    part, category, module, operator, shape, kernel_name, place,
    sum(exclusive_ns / weight) AS share_ns,
    sum(exclusive_ns) / any_value(replicate_samples.samples) AS value_ns,
    sum(calls / weight) AS calls,
    if(count(flop) = count(*), sum(flop / weight), NULL) AS flop,
    if(count(bytes) = count(*), sum(bytes / weight), NULL) AS bytes,
    if(count(operator_calls) = count(*), sum(operator_calls / weight), NULL) AS operator_calls
FROM blocks
JOIN unit_samples ON unit_samples.side = blocks.side AND unit_samples.unit = blocks.unit
JOIN replicate_samples
    ON replicate_samples.side = blocks.side AND replicate_samples.replicate = blocks.replicate
JOIN step_costs
    ON step_costs.trace_id = blocks.trace_id AND step_costs.step_block = blocks.step_block
GROUP BY
    blocks.side, blocks.replicate, part, category, module, operator, shape, kernel_name, place;
