-- One row per device operation with all that sums over operations need. An operation that runs
-- beside the others (role async) is no part of a device's own time.
--
-- Materialised per trace.
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL when unknown
-- device          INTEGER  device
-- kernel_id       BIGINT   event_id
-- pid             VARCHAR  process of the line; the device where kernels have no lines
-- tid             VARCHAR  thread of the line; the stream where kernels have no lines
-- role            VARCHAR  op, or async
-- start_ns        BIGINT   start, ns
-- end_ns          BIGINT   end, ns
-- dur_ns          BIGINT   duration, ns
-- self_ns         BIGINT   time in which it is the innermost of its line, ns; these sum to the
--                          union of the line's intervals
-- parent_id       BIGINT   event_id of the operation around it, NULL for the outermost
-- nest_depth      BIGINT   operations around it
-- is_overlapping  BOOLEAN  another starts within it and ends after it, or it does so to another
-- name            VARCHAR  name
-- canonical_name  VARCHAR  name without what tells instances apart
-- class           VARCHAR  compute, communication, copy, dma (transfers beside the compute units)
--                          or wait
-- category        VARCHAR  kernel category, other where no rule fits
-- collective      VARCHAR  which collective, where the trace or the name says so
-- program         VARCHAR  compiled program it is part of, NULL where there are none
-- execution_id    BIGINT   run of that program
-- hlo_category    VARCHAR  category that XLA gives it
-- path            VARCHAR  scopes it belongs to, => between, the outermost first: its own, or those
--                          that the same operation of the same program most often has; NULL where
--                          unknown
-- display_path    VARCHAR  the same with more transformations taken off
-- phase           VARCHAR  forward, backward or recompute, NULL where not told
-- shape           VARCHAR  dimensions of its results, | between; not of XLA: shapes of the
--                          operator's inputs, JSON
-- dtype           VARCHAR  types of the same
-- operand_shape   VARCHAR  dimensions of its operands (XLA), | between
-- operand_dtype   VARCHAR  types of its operands, | between
-- dedup_name      VARCHAR  name shared by the copies of one operation, as in the layers of a model
-- model_flops     BIGINT   operations of the model, NULL where unknown; XLA's 0 for a custom call
--                          is unknown
-- bytes_accessed  BIGINT   bytes read and written as XLA counts them
-- raw_bytes       BIGINT   the same without its corrections
-- source          VARCHAR  file and line in the user's program
CREATE VIEW _device_ops AS
WITH run_ops AS (
    SELECT ops.trace_id, kernel_id, program, execution_id
    FROM (SELECT trace_id, kernel_id, device, start_ns, end_ns FROM _op_rows WHERE is_xla) AS ops
    ASOF JOIN programs AS runs
        ON runs.trace_id = ops.trace_id AND runs.device = ops.device
        AND runs.start_ns <= ops.start_ns
    -- Both ends are rounded.
    WHERE ops.end_ns <= runs.end_ns + 1
),
captured AS (
    SELECT
        trace_id, kernel_id,
        replace(regexp_replace(module_path, '^nn\.Module: ', ''), '/nn.Module: ', '=>') AS path
    FROM captured_kernels
    WHERE module_path IS NOT NULL
),
described AS (
    SELECT
        r.trace_id, r.rank, r.device, r.kernel_id, r.pid, r.tid, r.role, r.is_xla, r.start_ns,
        r.end_ns, r.name,
        coalesce(named.canonical_name, r.display_name, r.name) AS canonical_name,
        CASE
            WHEN NOT r.is_xla AND r.category = 'wait' THEN 'wait'
            WHEN NOT r.is_xla AND r.kind = 'memory' THEN 'copy'
            WHEN NOT r.is_xla THEN r.kind
            WHEN hlo_categories.class IS NOT NULL THEN hlo_categories.class
            WHEN r.said[1] IS NOT NULL THEN 'compute'
            WHEN named.class = 'compute' AND r.copies THEN 'copy'
            ELSE named.class
        END AS class,
        CASE
            WHEN r.said[1] IS NULL THEN named.collective
            ELSE hlo_categories.collective
        END AS collective,
        coalesce(r.category, hlo_categories.category, 'other') AS category,
        coalesce(run_ops.program, r.said[9]) AS program,
        run_ops.execution_id,
        r.said[1] AS hlo_category,
        coalesce(_op_paths.path, named.path, scopes.path, captured.path) AS path,
        coalesce(_op_paths.display_path, named.path, scopes.path, captured.path)
            AS display_path,
        coalesce(_op_paths.phase, scopes.phase) AS phase,
        CASE WHEN r.is_xla THEN _op_shapes.shape ELSE r.input_dims END AS shape,
        CASE WHEN r.is_xla THEN _op_shapes.dtype ELSE r.input_types END AS dtype,
        _op_shapes.operand_shape,
        _op_shapes.operand_dtype,
        r.said[5] AS dedup_name,
        TRY_CAST(r.said[6] AS BIGINT) AS model_flops,
        TRY_CAST(r.said[7] AS BIGINT) AS bytes_accessed,
        TRY_CAST(r.said[8] AS BIGINT) AS raw_bytes,
        r.said[10] AS source
    FROM _op_rows AS r
    LEFT JOIN _op_classes AS named ON r.is_xla AND named.name = r.name
    LEFT JOIN hlo_categories ON hlo_categories.hlo_category = r.said[1]
    LEFT JOIN run_ops ON run_ops.trace_id = r.trace_id AND run_ops.kernel_id = r.kernel_id
    LEFT JOIN _kernel_scopes AS scopes
        ON scopes.trace_id = r.trace_id AND scopes.kernel_id = r.kernel_id
    LEFT JOIN captured
        ON captured.trace_id = r.trace_id AND captured.kernel_id = r.kernel_id
    LEFT JOIN _op_paths ON _op_paths.tf_op = r.said[2]
    LEFT JOIN _op_shapes
        ON r.is_xla
        AND _op_shapes.layout IS NOT DISTINCT FROM r.said[4]
        AND _op_shapes.instruction IS NOT DISTINCT FROM r.said[3]
),
usual AS (
    -- The scopes that an operation has most often; of several, the first by spelling.
    SELECT
        trace_id, program, name,
        arg_min(
            {'path': path, 'display_path': display_path, 'phase': phase},
            (-calls, path, phase)
        ) AS scopes
    FROM (
        SELECT trace_id, program, name, path, display_path, phase, count(*) AS calls
        FROM described
        WHERE is_xla AND path IS NOT NULL
        GROUP BY trace_id, program, name, path, display_path, phase
    )
    GROUP BY trace_id, program, name
)
SELECT
    described.trace_id, rank, device, kernel_id, pid, tid, role, start_ns, end_ns,
    end_ns - start_ns AS dur_ns,
    coalesce(self_ns, end_ns - start_ns) AS self_ns,
    parent_id,
    coalesce(nest_depth, 0) AS nest_depth,
    coalesce(is_overlapping, FALSE) AS is_overlapping,
    described.name, canonical_name, class, category, collective, described.program, execution_id,
    hlo_category,
    coalesce(path, usual.scopes.path) AS path,
    coalesce(display_path, usual.scopes.display_path) AS display_path,
    if(path IS NULL, coalesce(phase, usual.scopes.phase), phase) AS phase,
    shape, dtype, operand_shape, operand_dtype,
    coalesce(dedup_name, canonical_name) AS dedup_name,
    CASE WHEN hlo_category = 'custom-call' THEN nullif(model_flops, 0) ELSE model_flops END
        AS model_flops,
    bytes_accessed, raw_bytes, source
FROM described
LEFT JOIN _op_nesting USING (trace_id, kernel_id)
LEFT JOIN usual
    ON described.path IS NULL AND described.is_xla
    AND usual.trace_id = described.trace_id AND usual.name = described.name
    AND usual.program IS NOT DISTINCT FROM described.program;
