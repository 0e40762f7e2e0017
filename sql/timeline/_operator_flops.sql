-- One row per kernel that does the work of a framework operator whose shapes tell the floating-
-- point operations, see operator_works.
--
-- Each call counts once, see counted_operators. Of an operator's kernels those of a category that
-- does such work do it (operator_categories); where none is of that kind, all that compute. Several
-- share it by their durations.
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the kernel
-- flops      BIGINT   floating-point operations
CREATE VIEW _operator_flops AS
WITH counted AS (
    SELECT o.trace_id, o.op_id, o.family, w.flop
    FROM counted_operators AS o
    JOIN operator_works AS w USING (trace_id, work_id)
    WHERE w.flop > 0
),
launched AS (
    SELECT
        k.trace_id, k.kernel_id, k.op_id, k.start_ns, k.dur_ns, o.flop,
        coalesce(contains(c.families, o.family), FALSE) AS fits
    FROM kernels AS k
    JOIN counted AS o ON o.trace_id = k.trace_id AND o.op_id = k.op_id
    LEFT JOIN operator_categories AS c
        ON c.category
        = work_category(k.category, k.category_source, k.name_category, k.is_contradicted)
    -- An operator around the launch of a graph says nothing of the graph's kernels.
    WHERE k.kind = 'compute' AND k.dur_ns > 0 AND coalesce(k.launch_kernels, 1) = 1
),
workers AS (
    SELECT trace_id, kernel_id, op_id, start_ns, dur_ns, CAST(flop AS HUGEINT) AS flop
    FROM launched
    QUALIFY fits OR NOT bool_or(fits) OVER (PARTITION BY trace_id, op_id)
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
    CAST(flop * done_ns // total_ns - flop * (done_ns - dur_ns) // total_ns AS BIGINT) AS flops
FROM shares;
