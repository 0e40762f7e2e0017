-- One row per step that a trace is compared by, device and cause of idle time: how long the step
-- had nothing running for that cause. If the device ran other steps' work, the cause is other work.
--
-- The idle time of a device by cause is a running sum, so that a step's part is the difference of
-- two values: steps may overlap.
CREATE VIEW _step_idle AS
WITH intervals AS (
    SELECT trace_id, device, cause, start_ns, end_ns
    FROM _idle_intervals
    SEMI JOIN _compared_steps USING (trace_id, device)
),
before AS (
    SELECT
        trace_id, device, cause, start_ns, end_ns,
        sum(end_ns - start_ns) OVER (
            PARTITION BY trace_id, device, cause ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) - (end_ns - start_ns) AS before_ns
    FROM intervals
),
moments AS (
    SELECT DISTINCT
        steps.trace_id, steps.device, causes.cause,
        unnest([steps.start_ns, steps.end_ns]) AS at_ns
    FROM _compared_steps AS steps
    JOIN (SELECT DISTINCT trace_id, device, cause FROM intervals) AS causes
        ON causes.trace_id = steps.trace_id AND causes.device = steps.device
),
reached AS (
    SELECT
        moments.trace_id, moments.device, moments.cause, at_ns,
        coalesce(before_ns + least(at_ns, before.end_ns) - before.start_ns, 0) AS idle_ns
    FROM moments
    ASOF LEFT JOIN before
        ON before.trace_id = moments.trace_id AND before.device = moments.device
        AND before.cause = moments.cause AND before.start_ns <= moments.at_ns
),
caused AS (
    SELECT
        steps.trace_id, steps.device, steps.step_id, since.cause,
        till.idle_ns - since.idle_ns AS idle_ns
    FROM _compared_steps AS steps
    JOIN reached AS since
        ON since.trace_id = steps.trace_id AND since.device = steps.device
        AND since.at_ns = steps.start_ns
    JOIN reached AS till
        ON till.trace_id = steps.trace_id AND till.device = steps.device
        AND till.cause = since.cause AND till.at_ns = steps.end_ns
),
causes AS (
    SELECT trace_id, device, step_id, sum(idle_ns) AS idle_ns
    FROM caused
    GROUP BY trace_id, device, step_id
),
works AS (
    SELECT trace_id, device, step_id, sum(exclusive_ns) AS work_ns
    FROM _step_shares
    GROUP BY trace_id, device, step_id
)
SELECT trace_id, device, step_id, cause, CAST(idle_ns AS BIGINT) AS idle_ns
FROM caused
WHERE idle_ns > 0
UNION ALL
SELECT
    steps.trace_id, steps.device, steps.step_id, 'other work',
    CAST(
        steps.end_ns - steps.start_ns - coalesce(work_ns, 0) - coalesce(causes.idle_ns, 0) AS BIGINT
    )
FROM _compared_steps AS steps
LEFT JOIN causes USING (trace_id, device, step_id)
LEFT JOIN works USING (trace_id, device, step_id)
WHERE steps.end_ns - steps.start_ns <> coalesce(work_ns, 0) + coalesce(causes.idle_ns, 0);

-- One row per operation that counts for a step by which a trace is compared: its time, and what it
-- is, as the trace names it.
CREATE VIEW _step_work_items AS
WITH placed AS (
    SELECT
        k.trace_id, k.kernel_id,
        concat(
            coalesce(layer_type || ' ', ''), half, ' ', category, ' ',
            row_number() OVER (
                PARTITION BY k.trace_id, k.device, k.pass_id, k.layer_id, half, category
                ORDER BY position
            )
        ) AS place
    FROM layer_kernels AS k
    JOIN layers
        ON layers.trace_id = k.trace_id AND layers.device = k.device
        AND layers.pass_id = k.pass_id AND layers.layer_id = k.layer_id
),
sizes AS (
    SELECT trace_id, collective_id AS kernel_id, kind, bytes FROM collectives
    UNION ALL
    -- Its first copy has the size of a collective that copy engines transfer.
    SELECT parts.trace_id, parts.kernel_id, calls.kind, 0
    FROM _collective_parts AS parts
    JOIN _collective_halves AS halves USING (trace_id, device, kernel_id)
    JOIN collectives AS calls
        ON calls.trace_id = halves.trace_id AND calls.collective_id = halves.call_id
    WHERE parts.copied_by IS NOT NULL AND halves.kernel_id <> halves.call_id
),
-- The bytes that an operator moves are split among its kernels.
sharing AS (
    SELECT trace_id, op_id, count(*) AS op_kernels
    FROM kernels
    WHERE op_id IS NOT NULL
    GROUP BY trace_id, op_id
    HAVING count(*) > 1
),
-- A call is as much work in one kernel as in several; a copy beside them does not count.
parted AS (
    SELECT shares.trace_id, op_id, precedence, count(*) AS part_kernels
    FROM _step_shares AS shares
    JOIN kernels
        ON kernels.trace_id = shares.trace_id AND kernels.kernel_id = shares.kernel_id
    WHERE op_id IS NOT NULL
    GROUP BY shares.trace_id, op_id, precedence
    HAVING count(*) > 1
)
SELECT
    steps.trace_id, steps.step_block, shares.exclusive_ns, ops.dur_ns,
    ['compute', 'communication', 'memory', 'wait'][shares.precedence] AS part,
    if(shares.precedence = 2, coalesce(sizes.kind, ops.collective, ops.category), ops.category)
        AS category,
    ops.path, ops.phase,
    CASE
        WHEN shares.precedence = 2 THEN coalesce(sizes.kind, ops.collective, kernels.op_name, '')
        WHEN ops.hlo_category IS NOT NULL THEN ops.dedup_name
        ELSE coalesce(kernels.op_name, captured.op_name, '')
    END AS operator,
    CASE
        WHEN shares.precedence = 2 THEN ''
        WHEN ops.hlo_category IS NOT NULL THEN concat_ws(' ', ops.dtype, ops.shape)
        ELSE concat_ws(
            ' ', coalesce(kernels.input_dims, captured.input_dims),
            coalesce(kernels.input_types, captured.input_types)
        )
    END AS shape,
    if(ops.hlo_category IS NULL, ops.canonical_name, ops.dedup_name) AS kernel_name,
    coalesce(placed.place, '') AS place,
    ops.flop, coalesce(ops.bytes_accessed, sizes.bytes) AS bytes,
    CASE WHEN kernels.op_id IS NOT NULL THEN 1.0 / coalesce(sharing.op_kernels, 1) END AS op_calls,
    CASE WHEN kernels.op_id IS NOT NULL THEN 1.0 / coalesce(parted.part_kernels, 1) END
        AS operator_calls,
    CASE
        WHEN kernels.op_id IS NOT NULL
            THEN work_id(kernels.op_name, kernels.input_dims, kernels.input_types, NULL)
    END AS work_id
FROM _step_shares AS shares
JOIN _compared_steps AS steps USING (trace_id, device, step_id)
JOIN _device_ops AS ops ON ops.trace_id = shares.trace_id AND ops.kernel_id = shares.kernel_id
LEFT JOIN kernels
    ON kernels.trace_id = shares.trace_id AND kernels.kernel_id = shares.kernel_id
LEFT JOIN captured_kernels AS captured
    ON captured.trace_id = shares.trace_id AND captured.kernel_id = shares.kernel_id
LEFT JOIN placed
    ON placed.trace_id = shares.trace_id AND placed.kernel_id = shares.kernel_id
LEFT JOIN sizes ON sizes.trace_id = shares.trace_id AND sizes.kernel_id = shares.kernel_id
LEFT JOIN sharing
    ON sharing.trace_id = kernels.trace_id AND sharing.op_id = kernels.op_id
LEFT JOIN parted
    ON parted.trace_id = kernels.trace_id AND parted.op_id = kernels.op_id
    AND parted.precedence = shares.precedence;

-- One row per trace, block of its steps and kind of work in them: the exclusive time of this work.
-- The rows of a block sum to its dur_ns exactly, the time that a comparison explains.
--
-- If a step runs several operations at once, only the first of computing, communicating, copying
-- and waiting counts, and of two of a kind the one that began first, until it ends, but of
-- collectives the one that the device waits for, see awaited_turns; idle time belongs to its cause.
-- Work is the same if module, operator, shape, kernel and place all are. A number that counts
-- (layers.3, Linear_3) is # in the name of a module, so that the layers of a model are one; one
-- within a name (fc1, conv2d) stays.
--
-- stored: per trace
--
-- key: trace_id, step_block, cost_id
--
-- trace_id      VARCHAR  trace
-- step_block    BIGINT   block of consecutive steps, see step_blocks
-- cost_id       BIGINT   kind of work, from 0
-- part          VARCHAR  compute, communication (exposed), memory (exposed), wait or idle
-- category      VARCHAR  kernel category; for communication the kind of collective; for idle time
--                        its cause, see idle_rules, or other work: the device ran work that is not
--                        the step's
-- module        VARCHAR  modules or scopes around it, joined by =>, # for each number that counts,
--                        its phase appended if it is not forward; empty if unknown
-- operator      VARCHAR  framework operator, operation of XLA, or kind of collective; empty if
--                        unknown
-- shape         VARCHAR  shapes and types of the operator's inputs, for XLA of its results; empty
--                        if unknown
-- kernel_name   VARCHAR  kernel, its name shortened; for XLA the operation; empty for idle time
-- place         VARCHAR  layer type, half, category and which of them there; empty outside of
--                        layers, and where an operator is known
-- calls         BIGINT   operations; 0 for idle time
-- exclusive_ns  BIGINT   their time alone, ns; NULL, like sum_ns, beyond 64 bits
-- sum_ns        BIGINT   their durations, whatever else ran, ns; for idle time the same as
--                        exclusive_ns
-- flop          DOUBLE   floating-point operations of all calls, NULL unless all are known
-- bytes         DOUBLE   bytes moved by all calls, NULL unless all are known: for XLA its own
--                        count, for a collective its size, for operators that only move and change
--                        elements by the shapes of their inputs (operator_works), an equal part for
--                        each kernel of a call
-- operator_calls  DOUBLE  calls of the operator, to each of which its operations of one part of a
--                        step count in equal shares; NULL unless the calls of all are known, as
--                        they are not in replayed graphs
CREATE VIEW step_costs AS
WITH named AS (
    SELECT
        trace_id, step_block, part, category, path, phase, operator, shape, kernel_name, place,
        count(*) AS calls, sum(exclusive_ns) AS exclusive_ns, sum(dur_ns) AS sum_ns,
        if(count(flop) = count(*), sum(CAST(flop AS DOUBLE)), NULL) AS flop,
        if(count(bytes) = count(*), sum(CAST(bytes AS DOUBLE)), NULL) AS bytes,
        if(count(op_calls) = count(*), sum(op_calls), NULL) AS op_calls,
        if(count(operator_calls) = count(*), sum(operator_calls), NULL) AS operator_calls,
        any_value(work_id) AS work_id
    FROM _step_work_items
    GROUP BY
        trace_id, step_block, part, category, path, phase, operator, shape, kernel_name, place
    UNION ALL
    SELECT
        trace_id, step_block, 'idle', cause, NULL, NULL, '', '', '', '', 0, sum(idle_ns),
        sum(idle_ns), NULL, NULL, NULL, NULL, NULL
    FROM _step_idle
    JOIN _compared_steps USING (trace_id, device, step_id)
    GROUP BY trace_id, step_block, cause
),
moves AS (
    SELECT trace_id, work_id, bytes
    FROM operator_works
    WHERE family = 'memory'
),
modules AS (
    SELECT
        path, phase,
        concat(_numbers_folded(path), ' (' || nullif(phase, 'forward') || ')') AS module
    FROM (SELECT DISTINCT path, phase FROM named)
),
operators AS (
    -- XLA numbers the copies of an operation in its name.
    SELECT operator, kernel_name, regexp_replace(operator, '[.]\d+$', '') AS of_all,
        regexp_replace(kernel_name, '[.]\d+$', '') AS kernel_of_all
    FROM (SELECT DISTINCT operator, kernel_name FROM named)
),
gathered AS (
    SELECT
        named.trace_id, step_block, part, category, module, operators.of_all AS operator, shape,
        operators.kernel_of_all AS kernel_name,
        -- If a trace names operators, the place among the kernels of a layer is ignored.
        if(operators.of_all = '', place, '') AS place,
        sum(calls) AS calls, sum(exclusive_ns) AS exclusive_ns, sum(sum_ns) AS sum_ns,
        if(count(flop) = count(*), sum(flop), NULL) AS flop,
        if(
            count(coalesce(named.bytes, op_calls * moves.bytes)) = count(*),
            sum(coalesce(named.bytes, op_calls * moves.bytes)), NULL
        ) AS bytes,
        if(count(operator_calls) = count(*), sum(operator_calls), NULL) AS operator_calls
    FROM named
    JOIN modules
        ON modules.path IS NOT DISTINCT FROM named.path
        AND modules.phase IS NOT DISTINCT FROM named.phase
    JOIN operators
        ON operators.operator = named.operator AND operators.kernel_name = named.kernel_name
    LEFT JOIN moves ON moves.trace_id = named.trace_id AND moves.work_id = named.work_id
    GROUP BY ALL
)
SELECT
    trace_id, step_block,
    dense_rank() OVER (
        PARTITION BY trace_id
        ORDER BY part, category, module, operator, shape, kernel_name, place
    ) - 1 AS cost_id,
    part, category, module, operator, shape, kernel_name, place, CAST(calls AS BIGINT) AS calls,
    TRY_CAST(exclusive_ns AS BIGINT) AS exclusive_ns, TRY_CAST(sum_ns AS BIGINT) AS sum_ns, flop,
    bytes, operator_calls
FROM gathered;
