-- One row per device operation of a trace that shows training, except those that enclose others:
-- its phase. What runs in an annotation of the optimizer belongs to the optimizer, unless a
-- backward function, a module or a differentiated operator launched it: the optimizer does not
-- differentiate, but may run both passes (a closure, as Lightning gives it). Else the direction of
-- its layer decides; else whether it was launched by one of these; else its name. A transposed
-- convolution runs in its forward pass the kernel that another runs in its backward pass: there the
-- operator's name decides. If a trace has a backward pass and no annotation shows its optimizer,
-- what is left of this category belongs to the optimizer: steps over lists of tensors, and the
-- clipping of their gradients.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- phase      VARCHAR  forward, backward, optimizer, or other if unknown
CREATE VIEW _training_kernels AS
WITH names AS (
    SELECT n.subject, n.name, arg_min(r.direction, r.priority) AS direction
    FROM (
        SELECT subject, name, unnest(_matching_direction_rules(name)) AS priority
        FROM (
            -- torch_npu and PyTorch 1.8 write annotations as operators.
            SELECT DISTINCT 'annotation' AS subject, name
            FROM events
            WHERE lane = 'host' AND category IN ('user_annotation', 'cpu_op', 'operator')
            UNION
            SELECT s.subject, k.display_name
            FROM (SELECT DISTINCT display_name FROM kernels) AS k
            CROSS JOIN (VALUES ('kernel'), ('unmarked kernel')) AS s(subject)
        )
    ) AS n
    JOIN direction_rules AS r ON r.priority = n.priority AND r.subject = n.subject
    GROUP BY n.subject, n.name
),
notes AS (
    SELECT e.trace_id, e.pid, e.tid, e.start_ns, e.end_ns
    FROM events AS e
    JOIN names AS n
        ON n.subject = 'annotation' AND n.direction = 'optimizer' AND n.name = e.name
    WHERE
        e.lane = 'host' AND e.category IN ('user_annotation', 'cpu_op', 'operator')
        AND e.dur_ns > 0
    QUALIFY e.start_ns >= coalesce(max(e.end_ns) OVER (
        PARTITION BY e.trace_id, e.pid, e.tid ORDER BY e.start_ns, e.end_ns DESC, e.event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), e.start_ns)
),
directed AS (
    SELECT l.trace_id, l.kernel_id, any_value(p.direction) AS direction
    FROM layer_kernels AS l
    JOIN passes AS p
        ON p.trace_id = l.trace_id AND p.device = l.device
        AND p.pass_id = l.pass_id
    WHERE p.direction IS NOT NULL
    GROUP BY l.trace_id, l.kernel_id
),
optimized AS (
    SELECT k.trace_id, k.kernel_id
    FROM kernels AS k
    ASOF JOIN notes AS n
        ON n.trace_id = k.trace_id AND n.pid = k.issued_pid AND n.tid = k.issued_tid
        AND n.start_ns <= k.issued_ns
    WHERE k.issued_ns < n.end_ns
),
given AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.start_ns, k.end_ns,
        o.kernel_id IS NOT NULL AS is_marked,
        coalesce(u.direction, k.category) = 'optimizer' AS may_optimize,
        CASE
            WHEN o.kernel_id IS NOT NULL AND s.phase IS NULL THEN 'optimizer'
            WHEN coalesce(d.direction, s.phase) IN ('backward', 'recompute', 'weight gradient')
                THEN 'backward'
            ELSE coalesce(
                d.direction, s.phase,
                CASE
                    WHEN
                        k.category = 'conv' AND n.direction = 'backward'
                        AND NOT contains(k.op_name, 'backward')
                        THEN NULL
                    ELSE n.direction
                END
            )
        END AS phase
    FROM kernels AS k
    LEFT JOIN optimized AS o ON o.trace_id = k.trace_id AND o.kernel_id = k.kernel_id
    LEFT JOIN directed AS d ON d.trace_id = k.trace_id AND d.kernel_id = k.kernel_id
    LEFT JOIN kernel_scopes AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    LEFT JOIN names AS n ON n.subject = 'kernel' AND n.name = k.display_name
    LEFT JOIN names AS u ON u.subject = 'unmarked kernel' AND u.name = k.display_name
    ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
    WHERE k.category <> 'wait'
)
SELECT
    trace_id, rank, device, kernel_id, start_ns, end_ns,
    coalesce(
        phase,
        CASE
            WHEN may_optimize AND bool_or(phase = 'backward') OVER one_trace
                AND NOT bool_or(is_marked) OVER one_trace
                THEN 'optimizer'
        END,
        'other'
    ) AS phase
FROM given
WINDOW one_trace AS (PARTITION BY trace_id)
QUALIFY bool_or(phase IN ('backward', 'optimizer')) OVER one_trace;
