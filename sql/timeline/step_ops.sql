-- One row per operation of a trace, by program, name and shape: how often it runs and how long, on
-- one device in one steady step of the main program, or on one device in the whole trace where it
-- has no steady step. The operations of a step are those that were launched from it, see steps.
--
-- trace_id     VARCHAR  trace
-- program      VARCHAR  compiled program, NULL where there are none
-- op           VARCHAR  name shared by the copies of the operation
-- shape        VARCHAR  shapes of its results; of its operator's inputs where no program is
--                       compiled
-- family       VARCHAR  family by family_rules, else the kernel category
-- basis        VARCHAR  steady step or whole trace
-- calls        DOUBLE   calls
-- self_us      DOUBLE   their own time, µs
-- flops        DOUBLE   their floating-point operations, of the calls of which they are known, see
--                       ops
-- known_calls  DOUBLE   these calls
CREATE VIEW step_ops AS
WITH mains AS (
    SELECT trace_id, program, steps
    FROM step_summary
    WHERE is_main AND scope = 'steady' AND steps > 0
),
wholes AS (
    SELECT
        ops.trace_id, count(DISTINCT ops.device) AS devices,
        coalesce(any_value(mains.steps), 0) AS steps
    FROM _device_ops AS ops
    LEFT JOIN mains USING (trace_id)
    WHERE ops.role = 'op'
    GROUP BY ops.trace_id
),
counted AS (
    SELECT steps.trace_id, steps.device, steps.step_id
    FROM steps
    JOIN mains
        ON mains.trace_id = steps.trace_id AND mains.program IS NOT DISTINCT FROM steps.program
    WHERE NOT is_warm_up AND NOT is_partial
),
steady AS (
    SELECT work.trace_id, work.kernel_id
    FROM _step_work AS work
    JOIN counted
        ON counted.trace_id = work.trace_id AND counted.device = work.device
        AND counted.step_id = work.step_id
),
placed AS (
    SELECT
        ops.trace_id, ops.program, ops.name, ops.dedup_name AS op, ops.shape, ops.self_ns,
        ops.flops, steady.kernel_id IS NOT NULL AS is_steady
    FROM _device_ops AS ops
    LEFT JOIN steady
        ON steady.trace_id = ops.trace_id AND steady.kernel_id = ops.kernel_id
    WHERE ops.role = 'op'
),
families AS (
    SELECT trace_id, program, name, min(family) AS family
    FROM ops
    WHERE role = 'op'
    GROUP BY trace_id, program, name
)
SELECT
    placed.trace_id, placed.program, placed.op, placed.shape, families.family,
    CASE WHEN any_value(wholes.steps) > 0 THEN 'steady step' ELSE 'whole trace' END AS basis,
    count(*) / any_value(wholes.devices * greatest(wholes.steps, 1)) AS calls,
    sum(placed.self_ns) / 1000.0 / any_value(wholes.devices * greatest(wholes.steps, 1)) AS self_us,
    CAST(sum(placed.flops) AS DOUBLE)
        / any_value(wholes.devices * greatest(wholes.steps, 1)) AS flops,
    count(placed.flops) / any_value(wholes.devices * greatest(wholes.steps, 1)) AS known_calls
FROM placed
JOIN wholes USING (trace_id)
LEFT JOIN families
    ON families.trace_id = placed.trace_id AND families.name = placed.name
    AND families.program IS NOT DISTINCT FROM placed.program
WHERE placed.is_steady OR wholes.steps = 0
GROUP BY placed.trace_id, placed.program, placed.op, placed.shape, families.family;
