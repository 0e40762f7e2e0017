-- One row per copy or fill of memory on the streams that carry a device's layers, or launched from
-- a layer: the layer it belongs to, if any. Kernels alone decide where layers begin and end; this
-- comes after.
-- An operation launched from a layer's stretch of host time belongs to that layer, on any stream
-- and at any time. If the host does not show the layers, or not this launch, the time decides: a
-- layer extends from its first kernel to the next layer's first, the last one of a pass to its own
-- last kernel. A layer without a kernel has no row.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- stream        BIGINT   stream of the operation
-- kernel_id     BIGINT   the operation
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- dur_ns        BIGINT   its duration
-- kind          VARCHAR  memory
-- pass_id       BIGINT   pass, NULL outside the layers
-- layer_id      BIGINT   layer, NULL outside the layers
-- half          VARCHAR  half of the kernel before it in the layer, else of the layer's first one
-- part          VARCHAR  prologue, between or epilogue of a pass, where rules decide it for kernels
-- part_pass     BIGINT   pass of that part
-- component     VARCHAR  part of the layer by annotation, NULL if there is none
CREATE VIEW _memory_places AS
WITH copies AS (
    SELECT
        trace_id, rank, device, stream, kernel_id, start_ns, end_ns, dur_ns, kind, launch_id
    FROM kernels
    SEMI JOIN _kernel_places USING (trace_id, device)
    WHERE kind = 'memory'
),
streams AS (
    -- If there are anchors, their stream carries the layers, else each stream that a layer launches
    -- on.
    SELECT trace_id, rank, device, stream
    FROM _kernel_places
    GROUP BY trace_id, rank, device, stream
    QUALIFY
        bool_or(anchor_count IS NOT NULL)
        OR NOT bool_or(bool_or(anchor_count IS NOT NULL)) OVER (PARTITION BY trace_id, device)
),
calls AS (
    SELECT
        trace_id, rank, device, call_id, direction, layer_id, any_value(pass_id) AS pass_id,
        arg_min(half, seq) AS first_half
    FROM _kernel_places
    WHERE call_id IS NOT NULL
    GROUP BY trace_id, rank, device, call_id, direction, layer_id
),
launched AS (
    SELECT l.trace_id, l.kernel_id, l.component, c.pass_id, c.layer_id, c.first_half
    FROM _launched_layers AS l
    JOIN calls AS c
        ON c.trace_id = l.trace_id
        AND c.device = l.device
        AND c.call_id = l.call_id
        AND c.direction IS NOT DISTINCT FROM l.direction
        AND c.layer_id = l.layer_id
    WHERE l.kind = 'memory'
),
found AS (
    SELECT
        c.*, l.component, l.pass_id, l.layer_id, l.first_half, s.trace_id IS NOT NULL AS is_on_lane
    FROM copies AS c
    LEFT JOIN launched AS l ON l.trace_id = c.trace_id AND l.kernel_id = c.kernel_id
    LEFT JOIN streams AS s
        ON s.trace_id = c.trace_id
        AND s.device = c.device
        AND s.stream IS NOT DISTINCT FROM c.stream
    WHERE s.trace_id IS NOT NULL OR l.kernel_id IS NOT NULL
),
in_time AS (
    SELECT
        trace_id, rank, device, kernel_id, start_ns, TRUE AS is_copy,
        CAST(NULL AS STRUCT(
            pass_id BIGINT, layer_id BIGINT, half VARCHAR, part VARCHAR, part_pass BIGINT,
            is_shown BOOLEAN
        )) AS place
    FROM found
    WHERE is_on_lane
    UNION ALL
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.start_ns, FALSE,
        {
            'pass_id': k.pass_id, 'layer_id': k.layer_id, 'half': k.half, 'part': k.part,
            'part_pass': k.part_pass, 'is_shown': k.call_id IS NOT NULL
        }
    FROM _kernel_places AS k
    SEMI JOIN streams AS s
        ON s.trace_id = k.trace_id
        AND s.device = k.device
        AND s.stream IS NOT DISTINCT FROM k.stream
),
neighbours AS (
    SELECT
        trace_id, kernel_id, is_copy,
        last_value(place IGNORE NULLS) OVER (in_order ROWS UNBOUNDED PRECEDING) AS before,
        first_value(place IGNORE NULLS) OVER (
            in_order ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
        ) AS after
    FROM in_time
    WINDOW in_order AS (PARTITION BY trace_id, device ORDER BY start_ns, kernel_id)
),
surrounded AS (
    SELECT
        n.trace_id, n.kernel_id,
        CASE
            WHEN n.before.is_shown OR n.after.is_shown
                THEN CASE WHEN n.before.layer_id = n.after.layer_id THEN n.before END
            ELSE n.before
        END AS place,
        n.before.is_shown OR n.after.is_shown AS is_shown
    FROM neighbours AS n
    WHERE
        n.is_copy
        AND coalesce(n.before.pass_id, n.before.part_pass)
            = coalesce(n.after.pass_id, n.after.part_pass)
),
halves AS (
    SELECT f.trace_id, f.kernel_id, k.half
    FROM found AS f
    ASOF JOIN (
        SELECT trace_id, device, pass_id, layer_id, start_ns, arg_max(half, seq) AS half
        FROM _kernel_places
        WHERE layer_id IS NOT NULL
        GROUP BY trace_id, device, pass_id, layer_id, start_ns
    ) AS k
        ON k.trace_id = f.trace_id
        AND k.device = f.device
        AND k.pass_id = f.pass_id
        AND k.layer_id = f.layer_id
        AND k.start_ns <= f.start_ns
)
SELECT
    f.trace_id, f.rank, f.device, f.stream, f.kernel_id, f.start_ns, f.end_ns, f.dur_ns, f.kind,
    coalesce(f.pass_id, s.place.pass_id) AS pass_id,
    coalesce(f.layer_id, s.place.layer_id) AS layer_id,
    CASE
        WHEN f.layer_id IS NULL THEN s.place.half
        ELSE coalesce(h.half, f.first_half)
    END AS half,
    CASE WHEN f.layer_id IS NULL THEN s.place.part END AS part,
    CASE WHEN f.layer_id IS NULL THEN s.place.part_pass END AS part_pass, f.component
FROM found AS f
LEFT JOIN surrounded AS s
    ON s.trace_id = f.trace_id AND s.kernel_id = f.kernel_id
    -- A launch that the host shows outside all layers belongs to none.
    AND (f.launch_id IS NULL OR NOT s.is_shown)
LEFT JOIN halves AS h ON h.trace_id = f.trace_id AND h.kernel_id = f.kernel_id;
