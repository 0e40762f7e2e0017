-- One row per stretch of a thread that tells the phase of what it launches: annotations of the
-- optimizer and of the passes, and calls of modules that differentiate nothing, though an operator
-- in them does elsewhere in the trace. Of those of one phase that nest, the outermost; others may
-- overlap. As times are rounded, one that ends up to 3 ns behind another nests in it. What hands a
-- pass's data to another stage of a pipeline (recv_forward, send_backward) is no part of the pass.
CREATE VIEW _phase_marks AS
WITH names AS (
    SELECT n.name, CASE
        WHEN arg_min(r.direction, r.priority) = 'optimizer' THEN 'optimizer'
        -- One that names both passes holds both.
        WHEN bool_and(r.direction = 'forward') THEN 'forward'
        WHEN bool_and(r.direction IN ('backward', 'weight gradient')) THEN 'backward'
    END AS phase
    FROM (
        SELECT name, unnest(_matching_direction_rules(name)) AS priority
        FROM (
            -- torch_npu and PyTorch 1.8 write annotations as operators.
            SELECT DISTINCT name
            FROM events
            WHERE lane = 'host' AND category IN ('user_annotation', 'cpu_op', 'operator')
        )
        WHERE NOT regexp_matches(
            name, '(?i)(?:^|[^a-z])(?:send|recv|receive)[ _-](?:fwd|forward|bwd|backward)'
        )
    ) AS n
    JOIN direction_rules AS r ON r.priority = n.priority AND r.subject = 'annotation'
    GROUP BY n.name
),
undifferentiated AS (
    SELECT m.trace_id, m.pid, m.tid, m.event_id, m.start_ns, m.end_ns
    FROM module_calls AS m
    JOIN _scope_paths AS s ON s.trace_id = m.trace_id AND s.id = m.event_id
    SEMI JOIN (
        SELECT DISTINCT trace_id FROM _scope_paths WHERE phase = 'forward'
    ) AS t ON t.trace_id = m.trace_id
    WHERE s.kind = 'module' AND s.phase IS NULL
    QUALIFY m.start_ns >= coalesce(max(m.end_ns) OVER (
        PARTITION BY m.trace_id, m.pid, m.tid ORDER BY m.start_ns, m.end_ns DESC, m.event_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), m.start_ns)
),
-- Operators in them that make a node of autograd's graph elsewhere in the trace.
differentiable AS MATERIALIZED (
    SELECT u.trace_id, u.event_id, e.args
    FROM events AS e
    SEMI JOIN (
        SELECT DISTINCT trace_id, name FROM autograd_calls WHERE NOT is_backward
    ) AS n ON n.trace_id = e.trace_id AND n.name = e.name
    ASOF JOIN undifferentiated AS u
        ON u.trace_id = e.trace_id AND u.pid = e.pid AND u.tid = e.tid
        AND u.start_ns <= e.start_ns
    WHERE e.lane = 'host' AND e.category = 'cpu_op' AND e.start_ns < u.end_ns
),
-- Under torch.no_grad they have no number. Operators that never have one show nothing.
ungraded AS (
    SELECT DISTINCT trace_id, event_id
    FROM differentiable
    WHERE
        coalesce(TRY_CAST(json_extract_string(args, '$."Sequence number"') AS BIGINT), -1) < 0
),
marks AS (
    SELECT e.trace_id, e.pid, e.tid, e.event_id, e.start_ns, e.end_ns, n.phase
    FROM events AS e
    JOIN names AS n ON n.name = e.name
    WHERE
        e.lane = 'host' AND e.dur_ns > 0
        -- Operators bear the names of passes as well: flash_attn_backward.
        AND (
            e.category = 'user_annotation'
            OR (e.category IN ('cpu_op', 'operator') AND n.phase = 'optimizer')
        )
    UNION ALL
    SELECT u.trace_id, u.pid, u.tid, u.event_id, u.start_ns, u.end_ns, 'none'
    FROM undifferentiated AS u
    SEMI JOIN ungraded AS g ON g.trace_id = u.trace_id AND g.event_id = u.event_id
)
SELECT trace_id, pid, tid, event_id, start_ns, end_ns, phase
FROM marks
WHERE phase IS NOT NULL
-- Each of these ends behind those before it: what is inside any is inside the last to have started.
QUALIFY coalesce(end_ns > 3 + max(end_ns) OVER (
    PARTITION BY trace_id, pid, tid, phase ORDER BY start_ns, end_ns DESC, event_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
), TRUE);

-- One row per device operation launched in such a stretch: in which of each phase, NULL if in none.
CREATE VIEW _marked_kernels AS
WITH marks AS MATERIALIZED (
    SELECT trace_id, pid, tid, event_id, start_ns, end_ns, phase FROM _phase_marks
),
asked AS (
    SELECT k.trace_id, k.kernel_id, k.issued_pid, k.issued_tid, k.issued_ns, p.phase
    FROM kernels AS k
    JOIN (SELECT DISTINCT trace_id, phase FROM marks) AS p ON p.trace_id = k.trace_id
)
SELECT
    a.trace_id, a.kernel_id,
    max(m.event_id) FILTER (m.phase = 'optimizer') AS optimizer_id,
    max(m.event_id) FILTER (m.phase = 'backward') AS backward_id,
    max(m.event_id) FILTER (m.phase = 'forward') AS forward_id,
    max(m.event_id) FILTER (m.phase = 'none') AS none_id
FROM asked AS a
ASOF JOIN marks AS m
    ON m.trace_id = a.trace_id AND m.phase = a.phase AND m.pid = a.issued_pid
    AND m.tid = a.issued_tid AND m.start_ns <= a.issued_ns
WHERE a.issued_ns < m.end_ns
GROUP BY a.trace_id, a.kernel_id;

-- One row per device operation of a trace that shows training, except those that enclose others:
-- its phase. What runs in an annotation of the optimizer belongs to the optimizer, unless a
-- backward function, a module or a differentiated operator launched it: the optimizer does not
-- differentiate, but may run both passes (a closure, as Lightning gives it). Else the direction of
-- its layer decides; else whether it was launched by one of these; else its name; else the
-- annotations of a pass around its launch. A transposed convolution runs in its forward pass the
-- kernel that another runs in its backward pass: there the operator's name decides. If a trace has
-- a backward pass and no annotation shows its optimizer, what is left of this category belongs to
-- the optimizer: steps over lists of tensors, and the clipping of their gradients. So do, in a run
-- of a compiled program (JAX), operations after its first backward product whose path names no
-- derivative, outside of loops: a loop of micro-batches adds up gradients. Without a line of the
-- device that shows the runs, the next step's forward pass would be among them, so none are.
--
-- An annotation of a transfer between stages of a pipeline (recv_forward) shows no phase.
--
-- An annotation of a forward pass shows nothing of what runs under torch.no_grad: where operators
-- of the trace are differentiated, some that it holds must be, and an operation in a call of a
-- module that differentiates none is in no phase, if an operator in the call that autograd numbers
-- elsewhere has no number there. Custom operators without numbers (FBGEMM's) show nothing. One that
-- only transfers and copies (FSDP::pre_forward gathers weights, under torch.no_grad) is forward if
-- what its thread launches next, outside of such annotations, is.
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
            SELECT s.subject, k.display_name AS name
            FROM (SELECT DISTINCT display_name FROM kernels) AS k
            CROSS JOIN (VALUES ('kernel'), ('unmarked kernel')) AS s(subject)
        )
    ) AS n
    JOIN direction_rules AS r ON r.priority = n.priority AND r.subject = n.subject
    GROUP BY n.subject, n.name
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
marked AS MATERIALIZED (
    SELECT trace_id, kernel_id, optimizer_id, backward_id, forward_id, none_id FROM _marked_kernels
),
scopes AS (
    SELECT trace_id, kernel_id, phase FROM kernel_scopes WHERE phase IS NOT NULL
),
-- Of a run of a compiled program that differentiates (JAX). Both ends of a run are rounded.
updating AS (
    SELECT o.trace_id, o.kernel_id
    FROM _device_ops AS o
    ASOF JOIN programs AS p
        ON p.trace_id = o.trace_id AND p.device = o.device AND p.start_ns <= o.start_ns
    WHERE o.role = 'op' AND o.path IS NOT NULL AND o.end_ns <= p.end_ns + 1
    QUALIFY
        o.phase IS NULL AND o.parent_id IS NULL
        -- On a GPU, no operation is around those of a loop.
        AND NOT contains(o.path, 'while=>body')
        AND o.start_ns > min(CASE
            WHEN
                o.phase = 'backward'
                AND (o.category IN ('moe', 'mc2', 'conv') OR contains(o.category, 'gemm'))
                THEN o.start_ns
        END) OVER (PARTITION BY o.trace_id, o.device, p.event_id)
),
differentiated AS (
    SELECT DISTINCT m.trace_id, m.forward_id
    FROM marked AS m
    JOIN scopes AS s ON s.trace_id = m.trace_id AND s.kernel_id = m.kernel_id
    WHERE s.phase = 'forward'
),
recorded AS (
    SELECT DISTINCT trace_id FROM scopes WHERE phase = 'forward'
),
-- Annotations of a forward pass that only transfer and copy, with their last launch.
moving AS (
    SELECT
        m.trace_id, m.forward_id, k.issued_pid, k.issued_tid, max(k.issued_ns) AS issued_ns
    FROM marked AS m
    JOIN kernels AS k ON k.trace_id = m.trace_id AND k.kernel_id = m.kernel_id
    SEMI JOIN recorded AS r ON r.trace_id = m.trace_id
    ANTI JOIN differentiated AS d
        ON d.trace_id = m.trace_id AND d.forward_id = m.forward_id
    WHERE m.forward_id IS NOT NULL
    GROUP BY m.trace_id, m.forward_id, k.issued_pid, k.issued_tid
    HAVING bool_and(k.kind <> 'compute' OR k.category IN ('copy', 'cast', 'fill'))
),
preparing AS (
    SELECT v.trace_id, v.forward_id
    FROM moving AS v
    ASOF JOIN (
        SELECT k.trace_id, k.issued_pid, k.issued_tid, k.issued_ns, s.phase
        FROM kernels AS k
        SEMI JOIN moving AS v ON v.trace_id = k.trace_id
        LEFT JOIN marked AS m ON m.trace_id = k.trace_id AND m.kernel_id = k.kernel_id
        LEFT JOIN scopes AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
        WHERE m.forward_id IS NULL AND k.issued_ns IS NOT NULL
    ) AS n
        ON n.trace_id = v.trace_id AND n.issued_pid = v.issued_pid
        AND n.issued_tid = v.issued_tid AND n.issued_ns > v.issued_ns
    WHERE n.phase = 'forward'
),
noted AS (
    SELECT
        m.trace_id, m.kernel_id, m.optimizer_id IS NOT NULL AS optimizes,
        CASE
            WHEN m.none_id IS NOT NULL THEN NULL
            -- A forward pass inside the backward pass recomputes.
            WHEN m.backward_id IS NOT NULL THEN 'backward'
            WHEN d.forward_id IS NOT NULL OR p.forward_id IS NOT NULL THEN 'forward'
            WHEN m.forward_id IS NOT NULL AND r.trace_id IS NULL THEN 'forward'
        END AS phase
    FROM marked AS m
    LEFT JOIN differentiated AS d ON d.trace_id = m.trace_id AND d.forward_id = m.forward_id
    LEFT JOIN preparing AS p ON p.trace_id = m.trace_id AND p.forward_id = m.forward_id
    LEFT JOIN recorded AS r ON r.trace_id = m.trace_id
),
given AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.start_ns, k.end_ns,
        coalesce(o.optimizes, FALSE) AS is_marked,
        g.kernel_id IS NOT NULL
        OR coalesce(u.direction, k.category) = 'optimizer' AS may_optimize,
        CASE
            WHEN o.optimizes AND s.phase IS NULL THEN 'optimizer'
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
                END,
                o.phase
            )
        END AS phase
    FROM kernels AS k
    LEFT JOIN noted AS o ON o.trace_id = k.trace_id AND o.kernel_id = k.kernel_id
    LEFT JOIN directed AS d ON d.trace_id = k.trace_id AND d.kernel_id = k.kernel_id
    LEFT JOIN scopes AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    LEFT JOIN names AS n ON n.subject = 'kernel' AND n.name = k.display_name
    LEFT JOIN names AS u ON u.subject = 'unmarked kernel' AND u.name = k.display_name
    LEFT JOIN updating AS g ON g.trace_id = k.trace_id AND g.kernel_id = k.kernel_id
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
