-- One row per kernel, copy or fill of the anchors' stream outside the layers, and per idle gap
-- between passes. The longest time without a kernel separates the epilogue of one pass from the
-- prologue of the next. Evidence on either side limits where that may be: a kernel launched in the
-- call or the step of one of the two passes belongs to that pass, as does one whose row in a table
-- has the number of that pass's step. Between a forward pass and a backward one the first backward
-- kernel begins the prologue. If sampling, or a gather of the embedding, follows the longest
-- product, the product is the head of the pass before, which also has sampling, loss, backward
-- kernels and the optimizer; the first gather after these belongs to the next. The longest idle
-- time is the gap, without what passes of other series run in it, and copies before it are in the
-- epilogue. If rules assign kernels to passes, they decide, and the gap is the time between the
-- kernels of the two passes. A kernel is backward by its name, or launched by a backward function.
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- pass_id    BIGINT   pass it belongs to
-- series     VARCHAR  model that the pass is of
-- part       VARCHAR  prologue, between, epilogue or gap
-- kernel_id  BIGINT   the operation, NULL for a gap
-- kind       VARCHAR  compute, communication or memory, NULL for a gap
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- dur_ns     BIGINT   its duration, 0 for a gap
CREATE VIEW _part_kernels AS
WITH ruled AS (
    SELECT DISTINCT trace_id, device FROM _kernel_places WHERE part IS NOT NULL
),
placed AS (
    SELECT
        *,
        max(CASE WHEN pass_id IS NOT NULL AND kind <> 'memory' THEN seq END) OVER (
            PARTITION BY trace_id, device, pass_id
        ) AS last_seq
    FROM _places
),
neighbours AS (
    SELECT
        trace_id, rank, device, series, pass_id, kernel_id, start_ns, end_ns, dur_ns, kind, seq,
        -- seq ascends: the maximum is the last kernel's before, the minimum the next one's.
        arg_max(pass_id, CASE WHEN kind <> 'memory' AND pass_id IS NOT NULL THEN seq END)
            OVER before AS pass_before,
        arg_min(pass_id, CASE WHEN kind <> 'memory' AND pass_id IS NOT NULL THEN seq END)
            OVER after AS pass_after,
        min(CASE WHEN kind <> 'memory' THEN seq END) OVER after AS kernel_seq,
        arg_max(last_seq, CASE WHEN kind <> 'memory' AND last_seq IS NOT NULL THEN seq END)
            OVER before AS ended_seq,
        start_ns - max(end_ns) OVER before AS idle_ns,
        start_ns - max(CASE WHEN kind <> 'memory' THEN end_ns END) OVER before AS kernel_idle_ns,
        start_ns - max(end_ns) OVER (
            PARTITION BY trace_id, device ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS device_idle_ns
    FROM placed
    ANTI JOIN ruled USING (trace_id, device)
    WINDOW
        before AS (
            PARTITION BY trace_id, device, series ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        after AS (
            PARTITION BY trace_id, device, series ORDER BY seq DESC ROWS UNBOUNDED PRECEDING
        )
),
-- The step in which the layers of a pass were launched, if it is a single one.
pass_steps AS (
    SELECT l.trace_id, l.device, l.pass_id, min(s.start_ns) AS step_ns
    FROM (
        SELECT
            trace_id, device, pass_id,
            unnest([min(issued_ns), max(issued_ns)]) AS issued_ns
        FROM _kernel_places
        WHERE layer_id IS NOT NULL
        GROUP BY trace_id, device, pass_id
    ) AS l
    ASOF JOIN _host_steps AS s ON s.trace_id = l.trace_id AND s.start_ns <= l.issued_ns
    WHERE l.issued_ns < s.end_ns
    GROUP BY l.trace_id, l.device, l.pass_id
    HAVING count(*) = 2 AND min(s.start_ns) = max(s.start_ns)
),
-- The call of the model that launched the layers of a pass, if it is a single one.
calls AS (
    SELECT p.trace_id, p.device, p.pass_id, min(s.call_ns) AS call_ns
    FROM _kernel_places AS p
    JOIN _kernel_series AS s ON s.trace_id = p.trace_id AND s.kernel_id = p.kernel_id
    WHERE p.layer_id IS NOT NULL AND s.call_ns IS NOT NULL
    GROUP BY p.trace_id, p.device, p.pass_id
    HAVING min(s.call_ns) = max(s.call_ns)
),
-- The number of the step in the rows of the layers of a pass, if it is a single one.
numbers AS (
    SELECT p.trace_id, p.device, p.pass_id, min(n.step_number) AS step_number
    FROM _kernel_places AS p
    JOIN _numbered_kernels AS n ON n.trace_id = p.trace_id AND n.kernel_id = p.kernel_id
    WHERE p.layer_id IS NOT NULL
    GROUP BY p.trace_id, p.device, p.pass_id
    HAVING min(n.step_number) = max(n.step_number)
),
evidence AS (
    SELECT
        trace_id, device, pass_id, max(call_ns) AS call_ns, max(step_ns) AS step_ns,
        max(step_number) AS step_number, max(direction) AS direction
    FROM (
        SELECT
            trace_id, device, pass_id, call_ns, NULL AS step_ns, NULL AS step_number,
            NULL AS direction
        FROM calls
        UNION ALL
        SELECT trace_id, device, pass_id, NULL, step_ns, NULL, NULL FROM pass_steps
        UNION ALL
        SELECT trace_id, device, pass_id, NULL, NULL, step_number, NULL FROM numbers
        UNION ALL
        SELECT DISTINCT trace_id, device, pass_id, NULL, NULL, NULL, direction
        FROM _kernel_places
        WHERE layer_id IS NOT NULL AND direction IS NOT NULL
    )
    GROUP BY trace_id, device, pass_id
),
known AS (
    SELECT
        n.*, k.issued_ns, k.category, s.call_ns, r.step_number,
        b.name IS NOT NULL OR l.kernel_id IS NOT NULL AS is_backward
    FROM neighbours AS n
    JOIN kernels AS k ON k.trace_id = n.trace_id AND k.kernel_id = n.kernel_id
    LEFT JOIN _kernel_series AS s ON s.trace_id = n.trace_id AND s.kernel_id = n.kernel_id
    LEFT JOIN _numbered_kernels AS r
        ON r.trace_id = n.trace_id AND r.kernel_id = n.kernel_id
    LEFT JOIN _backward_names AS b
        ON b.trace_id = k.trace_id AND b.name = k.name AND b.op_name IS NOT DISTINCT FROM k.op_name
    LEFT JOIN _backward_launches AS l ON l.trace_id = n.trace_id AND l.kernel_id = n.kernel_id
    WHERE n.pass_before IS DISTINCT FROM n.pass_after
),
stepped AS (
    SELECT k.*, CASE WHEN k.issued_ns < s.end_ns THEN s.start_ns END AS step_ns
    FROM known AS k
    ASOF LEFT JOIN _host_steps AS s ON s.trace_id = k.trace_id AND s.start_ns <= k.issued_ns
),
sided AS (
    SELECT
        n.* EXCLUDE (issued_ns, category, call_ns, step_number, is_backward, step_ns),
        -- The backward kernels between a forward pass and a backward one.
        coalesce(
            n.is_backward AND b.direction = 'forward' AND a.direction <> 'forward', FALSE
        ) AS is_turned,
        CASE
            WHEN is_turned AND n.kind <> 'memory' THEN 'after'
            WHEN n.call_ns = b.call_ns THEN 'before'
            WHEN n.call_ns = a.call_ns THEN 'after'
            -- A step around both passes shows nothing.
            WHEN n.step_ns = b.step_ns AND b.step_ns IS DISTINCT FROM a.step_ns THEN 'before'
            WHEN n.step_ns = a.step_ns AND b.step_ns IS DISTINCT FROM a.step_ns THEN 'after'
            WHEN n.step_number = b.step_number AND b.step_number IS DISTINCT FROM a.step_number
                THEN 'before'
            WHEN n.step_number = a.step_number AND b.step_number IS DISTINCT FROM a.step_number
                THEN 'after'
        END AS side,
        CASE
            WHEN starts_with(n.category, 'gemm') AND n.pass_id IS NULL AND NOT is_turned
                THEN n.dur_ns
        END AS product_ns,
        NOT is_turned
        AND (n.category IN ('sampling', 'loss', 'optimizer') OR n.is_backward) AS is_ending,
        NOT is_turned AND (n.category = 'optimizer' OR n.is_backward) AS is_trained,
        n.category IN ('index', 'embedding') AND NOT n.is_backward AS is_gather
    FROM stepped AS n
    LEFT JOIN evidence AS b
        ON b.trace_id = n.trace_id AND b.device = n.device AND b.pass_id = n.pass_before
    LEFT JOIN evidence AS a
        ON a.trace_id = n.trace_id AND a.device = n.device AND a.pass_id = n.pass_after
),
headed AS (
    SELECT
        *,
        -- The longest product, the last of equal ones.
        arg_max(seq, (product_ns, seq)) FILTER (product_ns IS NOT NULL) OVER region AS head_seq
    FROM sided
    WINDOW region AS (PARTITION BY trace_id, device, series, pass_before)
),
ended AS (
    SELECT
        *,
        max(seq) FILTER (is_trained OR is_ending AND seq > head_seq) OVER region AS ending_seq,
        bool_or(is_trained OR (is_ending OR is_gather) AND seq > head_seq) OVER region AS has_head
    FROM headed
    WINDOW region AS (PARTITION BY trace_id, device, series, pass_before)
),
limited AS (
    SELECT
        *,
        greatest(
            max(seq) FILTER (side = 'before') OVER region,
            CASE WHEN has_head THEN coalesce(ending_seq, head_seq) END,
            min(seq) FILTER (is_turned AND kind <> 'memory') OVER region - 1, -1
        ) AS low_seq,
        least(
            min(seq) FILTER (side = 'after') OVER region,
            min(seq) FILTER (is_gather AND seq > ending_seq) OVER region
        ) AS high_seq
    FROM ended
    WINDOW region AS (PARTITION BY trace_id, device, series, pass_before)
),
parted AS (
    SELECT
        *,
        arg_max(seq, (
            seq > low_seq AND coalesce(seq <= high_seq OR high_seq <= low_seq, TRUE),
            kernel_idle_ns, -seq
        )) FILTER (kind <> 'memory') OVER region AS cut_kernel_seq
    FROM limited
    WINDOW region AS (PARTITION BY trace_id, device, series, pass_before)
),
surroundings AS (
    SELECT
        *, arg_max(seq, (idle_ns, -seq)) FILTER (kernel_seq = cut_kernel_seq) OVER region AS cut_seq
    FROM parted
    WINDOW region AS (PARTITION BY trace_id, device, series, pass_before)
),
ruled_spans AS (
    SELECT
        k.trace_id, k.rank, k.device, any_value(k.series) AS series,
        coalesce(k.pass_id, k.part_pass) AS pass_id, max(k.end_ns) AS end_ns,
        lead(min(k.start_ns)) OVER (
            PARTITION BY k.trace_id, k.device ORDER BY coalesce(k.pass_id, k.part_pass)
        ) AS next_ns
    FROM _places AS k
    SEMI JOIN ruled ON ruled.trace_id = k.trace_id AND ruled.device = k.device
    WHERE coalesce(k.pass_id, k.part_pass) IS NOT NULL
    GROUP BY k.trace_id, k.rank, k.device, coalesce(k.pass_id, k.part_pass)
),
-- Operations outside all passes may run between two passes.
ruled_gaps AS (
    SELECT
        s.trace_id, s.rank, s.device, s.series, s.pass_id, s.end_ns,
        least(s.next_ns, k.start_ns) AS next_ns
    FROM ruled_spans AS s
    ASOF JOIN (SELECT trace_id, device, start_ns FROM kernels) AS k
        ON k.trace_id = s.trace_id AND k.device = s.device AND k.start_ns >= s.end_ns
    WHERE s.next_ns IS NOT NULL
),
decided AS (
    SELECT
        *, pass_before IS NULL OR (pass_after IS NOT NULL AND seq >= cut_seq) AS is_prologue
    FROM surroundings
    WHERE pass_id IS NULL
)
SELECT
    trace_id, rank, device, CASE WHEN is_prologue THEN pass_after ELSE pass_before END AS pass_id,
    series, CASE WHEN is_prologue THEN 'prologue' ELSE 'epilogue' END AS part,
    kernel_id, kind, start_ns, end_ns, dur_ns
FROM decided
UNION ALL
SELECT
    trace_id, rank, device, pass_before, series, 'gap', NULL, NULL, start_ns - device_idle_ns,
    start_ns, 0
FROM surroundings
WHERE pass_before IS NOT NULL AND pass_after IS NOT NULL AND seq = cut_seq
    AND device_idle_ns > 0
    -- Interleaved passes have no gap between them.
    AND seq > ended_seq
UNION ALL
SELECT trace_id, rank, device, part_pass, series, part, kernel_id, kind, start_ns, end_ns, dur_ns
FROM _places
WHERE part IS NOT NULL
UNION ALL
SELECT trace_id, rank, device, pass_id, series, 'gap', NULL, NULL, end_ns, next_ns, 0
FROM ruled_gaps
WHERE next_ns > end_ns;
