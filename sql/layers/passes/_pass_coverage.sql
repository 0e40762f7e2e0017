-- One row per device and holder of its busy time: the layers of a series of passes, the parts
-- around them, and work outside passes. Each moment counts once: for layers if a kernel of one
-- runs, else for the parts around them, else for the rest; if several holders are equal, for the
-- one that was running first. So the rows of a device sum to the union of its operations, except
-- those that only wait or enclose others.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- series        VARCHAR  series of passes, NULL for the rest
-- direction     VARCHAR  direction of these passes in training, NULL if unknown
-- part          VARCHAR  layers, prologue, between or epilogue, NULL for the rest
-- holder        VARCHAR  what names the rest: module or category; NULL in passes
-- name          VARCHAR  name of the module or category
-- kernel_count  BIGINT   operations
-- held_ns       BIGINT   busy time
-- busy_ns       BIGINT   busy time of the device
CREATE VIEW _pass_coverage AS
WITH surrounding AS (
    SELECT trace_id, kernel_id, any_value(series) AS series, any_value(part) AS part
    FROM _part_kernels
    WHERE kernel_id IS NOT NULL
    GROUP BY trace_id, kernel_id
),
operations AS (
    SELECT
        k.trace_id, k.rank, k.device, k.kernel_id, k.start_ns, k.end_ns,
        CASE WHEN l.layer_id IS NOT NULL THEN 1 WHEN s.part IS NOT NULL THEN 2 ELSE 3 END AS level,
        coalesce(CASE WHEN l.layer_id IS NOT NULL THEN l.series END, s.series) AS series,
        CASE WHEN l.layer_id IS NOT NULL THEN l.direction END AS direction,
        CASE WHEN l.layer_id IS NOT NULL THEN 'layers' ELSE s.part END AS part,
        CASE
            WHEN l.layer_id IS NOT NULL OR s.part IS NOT NULL THEN NULL
            WHEN m.module IS NOT NULL THEN 'module'
            ELSE 'category'
        END AS holder,
        CASE
            WHEN l.layer_id IS NULL AND s.part IS NULL THEN coalesce(m.module, k.category)
        END AS name
    FROM kernels AS k
    LEFT JOIN _places AS l ON l.trace_id = k.trace_id AND l.kernel_id = k.kernel_id
    LEFT JOIN surrounding AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    LEFT JOIN _kernel_series AS m ON m.trace_id = k.trace_id AND m.kernel_id = k.kernel_id
    ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
    WHERE k.category <> 'wait'
),
-- Time that an operation adds to earlier ones of its level, and to all levels up to a given one.
pieces AS (
    SELECT
        *,
        greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY trace_id, device, level ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS from_ns
    FROM operations
),
reached AS (
    SELECT
        o.trace_id, o.device, u.upto, o.end_ns,
        greatest(o.start_ns, coalesce(max(o.end_ns) OVER (
            PARTITION BY o.trace_id, o.device, u.upto ORDER BY o.start_ns, o.kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), o.start_ns)) AS from_ns
    FROM operations AS o
    JOIN (VALUES (1), (2)) AS u (upto) ON o.level <= u.upto
),
covers AS (
    SELECT
        trace_id, device, upto + 1 AS level, from_ns, end_ns,
        sum(end_ns - from_ns) OVER (
            PARTITION BY trace_id, device, upto ORDER BY from_ns ROWS UNBOUNDED PRECEDING
        ) - (end_ns - from_ns) AS before_ns
    FROM reached
    WHERE end_ns > from_ns
),
started AS (
    SELECT
        p.*, coalesce(c.before_ns + least(p.from_ns, c.end_ns) - c.from_ns, 0) AS covered_before_ns
    FROM pieces AS p
    ASOF LEFT JOIN covers AS c
        ON c.trace_id = p.trace_id AND c.device = p.device AND c.level = p.level
        AND c.from_ns <= p.from_ns
),
ended AS (
    SELECT
        p.*,
        CASE
            WHEN p.end_ns > p.from_ns THEN p.end_ns - p.from_ns - (
                coalesce(c.before_ns + least(p.end_ns, c.end_ns) - c.from_ns, 0)
                - p.covered_before_ns
            )
            ELSE 0
        END AS held_ns
    FROM started AS p
    ASOF LEFT JOIN covers AS c
        ON c.trace_id = p.trace_id AND c.device = p.device AND c.level = p.level
        AND c.from_ns <= p.end_ns
)
SELECT
    trace_id, any_value(rank) AS rank, device, series, direction, part, holder, name,
    count(*) AS kernel_count, CAST(sum(held_ns) AS BIGINT) AS held_ns,
    CAST(sum(sum(held_ns)) OVER (PARTITION BY trace_id, device) AS BIGINT) AS busy_ns
FROM ended
GROUP BY trace_id, device, series, direction, part, holder, name;
