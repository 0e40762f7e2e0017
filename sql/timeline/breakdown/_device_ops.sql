-- One row per kernel whose floating-point operations follow from shapes: its own in a table of
-- Ascend kernels, see ascend_operators, else those of the framework operator whose work it does,
-- see operator_works: the counted operator that launched it or is around the one that did, see
-- kernel_operators.
--
-- Each call counts once, see counted_operators, and not at all if one of its kernels has its own
-- shapes. Its work is done by the operator's kernels whose category does such work
-- (operator_categories) or, if none is of that kind, by all that compute. Several kernels share it
-- in proportion to their durations.
CREATE VIEW _operator_flops AS
WITH counted AS (
    SELECT o.trace_id, o.op_id, o.family, w.flop
    FROM counted_operators AS o
    JOIN operator_works AS w USING (trace_id, work_id)
    WHERE w.flop > 0
),
own AS (
    SELECT trace_id, kernel_id, TRY_CAST(flop AS BIGINT) AS flop
    FROM ascend_operators
    WHERE counted AND flop > 0
),
launched AS (
    SELECT
        k.trace_id, k.kernel_id, o.op_id, k.start_ns, k.dur_ns, o.flop,
        coalesce(contains(c.families, o.family), FALSE) AS fits,
        own.kernel_id IS NOT NULL AS has_own
    FROM kernels AS k
    JOIN kernel_operators AS caused
        ON caused.trace_id = k.trace_id AND caused.kernel_id = k.kernel_id
    JOIN counted AS o ON o.trace_id = caused.trace_id AND o.op_id = caused.counted_op_id
    LEFT JOIN operator_categories AS c
        ON c.category
        = work_category(k.category, k.category_source, k.name_category, k.is_contradicted)
    LEFT JOIN own ON own.trace_id = k.trace_id AND own.kernel_id = k.kernel_id
    WHERE k.kind = 'compute' AND k.dur_ns > 0
),
workers AS (
    SELECT trace_id, kernel_id, op_id, start_ns, dur_ns, CAST(flop AS HUGEINT) AS flop
    FROM launched
    WINDOW of_operator AS (PARTITION BY trace_id, op_id)
    QUALIFY
        (fits OR NOT bool_or(fits) OVER of_operator) AND NOT bool_or(has_own) OVER of_operator
),
shares AS (
    SELECT
        trace_id, kernel_id, flop, dur_ns,
        sum(dur_ns) OVER (
            PARTITION BY trace_id, op_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS done_ns,
        sum(dur_ns) OVER (PARTITION BY trace_id, op_id) AS total_ns
    FROM workers
)
SELECT
    trace_id, kernel_id,
    TRY_CAST(
        try(flop * done_ns // total_ns - flop * (done_ns - dur_ns) // total_ns) AS BIGINT
    ) AS flop
FROM shares
UNION ALL
SELECT trace_id, kernel_id, flop FROM own;

-- One row per device operation with everything that sums over operations need. An operation that
-- runs beside the others (role async) is not part of a device's own time.
--
-- stored: per trace
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device
-- kernel_id       BIGINT   event_id
-- pid             VARCHAR  process of the line; the device where kernels have no lines
-- tid             VARCHAR  thread of the line; the stream where kernels have no lines, empty if
--                          unknown
-- role            VARCHAR  op, or async
-- start_ns        BIGINT   start, ns
-- end_ns          BIGINT   end, ns
-- dur_ns          BIGINT   duration, ns
-- self_ns         BIGINT   time in which it is the innermost of its line, ns; these sum to the
--                          union of the line's intervals; the duration without a stream
-- parent_id       BIGINT   event_id of the operation around it, NULL for the outermost
-- is_overlapping  BOOLEAN  another starts within it and ends after it, or vice versa
-- name            VARCHAR  name
-- canonical_name  VARCHAR  name shared by all instances
-- class           VARCHAR  compute, communication, copy, dma (transfers beside the compute units)
--                          or wait
-- category        VARCHAR  kernel category, other where no rule fits
-- collective      VARCHAR  which collective, if the trace or the name has it
-- program         VARCHAR  compiled program it is part of, NULL if there are none
-- execution_id    BIGINT   run of that program
-- hlo_category    VARCHAR  category that XLA gives it
-- path            VARCHAR  scopes it belongs to, joined by =>, the outermost first: its own, or the
--                          most frequent ones of the same operation in its program; NULL if unknown
-- display_path    VARCHAR  path with more transformations stripped
-- phase           VARCHAR  forward, backward or recompute; NULL if unknown
-- shape           VARCHAR  dimensions of its results, | between; not of XLA: shapes of the
--                          operator's inputs, JSON
-- dtype           VARCHAR  their types
-- dedup_name      VARCHAR  name shared by the copies of one operation, as in the layers of a model,
--                          if the trace marks them; else the name
-- xla_model_flop  BIGINT   operations as XLA counts them, NULL if unknown; a 0 for a custom call or
--                          a matrix product counts as unknown
-- flop            BIGINT   xla_model_flop, else the operations by the shapes of a matrix product, a
--                          convolution or an attention: the kernel's own in a table of Ascend
--                          kernels, else its operator's; NULL if all are unknown
-- flop_source     VARCHAR  their source: model_flops, shapes or none
-- bytes_accessed  BIGINT   bytes read and written as XLA counts them; NULL if it only begins or
--                          ends a transfer (is_async of hlo_categories)
-- source          VARCHAR  file and line in the user's program
CREATE VIEW _device_ops AS
WITH texts AS (
    SELECT
        trace_id, text_id, name, canonical_name, class, category, collective, hlo_category,
        hlo_module, path, display_path, phase, shape, dtype, dedup_name, xla_model_flop, shape_flop,
        bytes_accessed, source
    FROM _op_texts
),
run_ops AS (
    SELECT ops.trace_id, kernel_id, program, execution_id
    FROM (SELECT trace_id, kernel_id, device, start_ns, end_ns FROM _xla_ops) AS ops
    ASOF JOIN programs AS runs
        ON runs.trace_id = ops.trace_id AND runs.device = ops.device
        AND runs.start_ns <= ops.start_ns
    -- Both ends are rounded.
    WHERE ops.end_ns <= runs.end_ns + 1
),
usual AS (
    -- The most frequent scopes of an operation; on a tie, the first in alphabetical order.
    SELECT
        trace_id, program, name,
        arg_min(
            {'path': path, 'display_path': display_path, 'phase': phase},
            (-calls, path, phase)
        ) AS scopes
    FROM (
        SELECT
            trace_id, coalesce(program, hlo_module) AS program, name, path, display_path, phase,
            sum(calls) AS calls
        FROM (
            SELECT trace_id, text_id, program, count(*) AS calls
            FROM _xla_ops
            LEFT JOIN run_ops USING (trace_id, kernel_id)
            GROUP BY trace_id, text_id, program
        )
        JOIN texts USING (trace_id, text_id)
        WHERE path IS NOT NULL
        GROUP BY
            trace_id, coalesce(program, hlo_module), name, path, display_path, phase
    )
    GROUP BY trace_id, program, name
),
captured AS (
    SELECT
        trace_id, kernel_id,
        -- A module is named after its class.
        replace(replace(module_path, 'nn.Module: ', ''), '/', '=>') AS path
    FROM captured_kernels
    WHERE module_path IS NOT NULL
),
compiled AS (
    SELECT
        o.trace_id, o.rank, o.device, o.kernel_id, o.pid, o.tid, o.role, o.start_ns, o.end_ns,
        t.name, t.canonical_name, t.class, t.category, t.collective,
        coalesce(run_ops.program, t.hlo_module) AS program,
        run_ops.execution_id, t.hlo_category,
        coalesce(t.path, usual.scopes.path) AS path,
        coalesce(t.display_path, usual.scopes.display_path) AS display_path,
        if(t.path IS NULL, coalesce(t.phase, usual.scopes.phase), t.phase) AS phase,
        t.shape, t.dtype, coalesce(t.dedup_name, t.name) AS dedup_name,
        t.xla_model_flop, t.shape_flop, t.bytes_accessed, t.source
    FROM _xla_ops AS o
    JOIN texts AS t USING (trace_id, text_id)
    LEFT JOIN run_ops ON run_ops.trace_id = o.trace_id AND run_ops.kernel_id = o.kernel_id
    LEFT JOIN usual
        ON t.path IS NULL AND usual.trace_id = o.trace_id AND usual.name = t.name
        AND usual.program IS NOT DISTINCT FROM coalesce(run_ops.program, t.hlo_module)
),
launched AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, coalesce(CAST(k.device AS VARCHAR), '') AS pid,
        coalesce(CAST(k.stream AS VARCHAR), '') AS tid, k.start_ns, k.end_ns, k.name,
        coalesce(k.display_name, k.name) AS canonical_name,
        CASE
            WHEN k.category = 'wait' THEN 'wait'
            WHEN k.kind = 'memory' THEN 'copy'
            ELSE k.kind
        END AS class,
        coalesce(k.category, 'other') AS category,
        coalesce(scopes.path, captured.path) AS path, scopes.phase, k.input_dims, k.input_types,
        work.flop
    FROM kernels AS k
    ANTI JOIN (SELECT DISTINCT trace_id FROM _xla_ops) AS compiled
        ON compiled.trace_id = k.trace_id
    LEFT JOIN _launch_scopes AS scopes
        ON scopes.trace_id = k.trace_id AND scopes.kernel_id = k.kernel_id
    LEFT JOIN captured
        ON captured.trace_id = k.trace_id AND captured.kernel_id = k.kernel_id
    LEFT JOIN _operator_flops AS work
        ON work.trace_id = k.trace_id AND work.kernel_id = k.kernel_id
    WHERE k.dur_ns >= 0
),
described AS (
    SELECT
        trace_id, rank, device, kernel_id, pid, tid, role, start_ns, end_ns, name, canonical_name,
        class, category, collective, program, execution_id, hlo_category, path, display_path,
        phase, shape, dtype, dedup_name, xla_model_flop, shape_flop, bytes_accessed, source
    FROM compiled
    UNION ALL
    SELECT
        trace_id, rank, device, kernel_id, pid, tid, 'op', start_ns, end_ns, name, canonical_name,
        class, category, NULL, NULL, NULL, NULL, path, path, phase, input_dims, input_types,
        canonical_name, NULL, flop, NULL, NULL
    FROM launched
)
SELECT
    trace_id, rank, device, kernel_id, pid, tid, role, start_ns, end_ns,
    end_ns - start_ns AS dur_ns,
    coalesce(self_ns, end_ns - start_ns) AS self_ns,
    parent_id,
    coalesce(is_overlapping, FALSE) AS is_overlapping,
    name, canonical_name, class, category, collective, program, execution_id, hlo_category, path,
    display_path, phase, shape, dtype, dedup_name, xla_model_flop,
    coalesce(xla_model_flop, shape_flop) AS flop,
    CASE
        WHEN xla_model_flop IS NOT NULL THEN 'model_flops'
        WHEN shape_flop IS NOT NULL THEN 'shapes'
        ELSE 'none'
    END AS flop_source,
    bytes_accessed, source
FROM described
LEFT JOIN _op_nesting USING (trace_id, kernel_id);
