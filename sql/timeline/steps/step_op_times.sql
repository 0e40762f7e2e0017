-- One row per steady step of the main program and operation, by name and shape: how often it runs
-- in the step and how long, on one device; a trace without steady steps is one step as a whole. The
-- operations of a step are those that were launched from it, see steps.
--
-- stored: per trace
--
-- key: trace_id, step_id, program?, op?, shape?, family
--
-- trace_id     VARCHAR  trace
-- step_id      BIGINT   step; 0 for a whole trace
-- program      VARCHAR  compiled program, NULL if there are none
-- op           VARCHAR  name shared by the copies of the operation, else its name without number;
--                       NULL if it has no name
-- shape        VARCHAR  shapes of its results; of its operator's inputs if there is no compiled
--                       program
-- family       VARCHAR  family by family_rules, else the kernel category
-- basis        VARCHAR  steady step or whole trace
-- steps        BIGINT   steps that the trace is measured by, 1 for a whole trace
-- calls        DOUBLE   calls
-- self_us      DOUBLE   their own time, µs
-- flop         DOUBLE   their floating-point operations, of the calls where they are known, see ops
-- known_calls  DOUBLE   number of these calls
CREATE VIEW step_op_times AS
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
    SELECT work.trace_id, work.kernel_id, work.step_id
    FROM _step_work AS work
    JOIN counted
        ON counted.trace_id = work.trace_id AND counted.device = work.device
        AND counted.step_id = work.step_id
),
placed AS (
    -- Summed before the join by name: few rows are left of many operations.
    SELECT
        ops.trace_id, steady.step_id, ops.program, ops.name,
        -- Another build may number its operations otherwise.
        if(ops.dedup_name = ops.name, ops.canonical_name, ops.dedup_name) AS op, ops.shape,
        count(*) AS calls, sum(ops.self_ns) AS self_ns, sum(ops.flop) AS flop,
        count(ops.flop) AS known_calls
    FROM _device_ops AS ops
    LEFT JOIN steady
        ON steady.trace_id = ops.trace_id AND steady.kernel_id = ops.kernel_id
    WHERE ops.role = 'op'
    GROUP BY
        ops.trace_id, steady.step_id, ops.program, ops.name, ops.dedup_name, ops.canonical_name,
        ops.shape
),
families AS (
    SELECT trace_id, program, name, min(family) AS family
    FROM ops
    WHERE role = 'op'
    GROUP BY trace_id, program, name
)
SELECT
    placed.trace_id, coalesce(placed.step_id, 0) AS step_id, placed.program, placed.op,
    placed.shape, families.family,
    CASE WHEN any_value(wholes.steps) > 0 THEN 'steady step' ELSE 'whole trace' END AS basis,
    any_value(greatest(wholes.steps, 1)) AS steps,
    sum(placed.calls) / any_value(wholes.devices) AS calls,
    sum(placed.self_ns) / 1000.0 / any_value(wholes.devices) AS self_us,
    CAST(sum(placed.flop) AS DOUBLE) / any_value(wholes.devices) AS flop,
    sum(placed.known_calls) / any_value(wholes.devices) AS known_calls
FROM placed
JOIN wholes USING (trace_id)
LEFT JOIN families
    ON families.trace_id = placed.trace_id AND families.name IS NOT DISTINCT FROM placed.name
    AND families.program IS NOT DISTINCT FROM placed.program
WHERE placed.step_id IS NOT NULL OR wholes.steps = 0
GROUP BY
    placed.trace_id, coalesce(placed.step_id, 0), placed.program, placed.op, placed.shape,
    families.family;
