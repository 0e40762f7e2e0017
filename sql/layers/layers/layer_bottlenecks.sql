-- One row per pass and layer with communication: the time of it, from the layer's start to its end,
-- in which the device computes nothing, for this layer or another: as the device's own exposed
-- communication. Copies, fills of memory, kernels that wait, and operations that only enclose
-- others (a loop of XLA) hide nothing.
--
-- Stretches are what an operation adds to all that started before it, so they are disjoint: of a
-- device's computation, with a running sum, and of a layer's communication. The sum at the end of a
-- stretch of communication minus that at its start is hidden.
CREATE VIEW _exposed_layers AS
WITH computing AS (
    SELECT trace_id, device, greatest(start_ns, coalesce(before_ns, start_ns)) AS start_ns, end_ns
    FROM (
        SELECT
            trace_id, device, start_ns, end_ns, max(end_ns) OVER (
                PARTITION BY trace_id, device ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before_ns
        FROM kernels
        ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
        WHERE kind = 'compute' AND category <> 'wait'
    )
    WHERE end_ns > coalesce(before_ns, start_ns)
),
summed AS (
    SELECT
        trace_id, device, start_ns, end_ns,
        sum(end_ns - start_ns) OVER (
            PARTITION BY trace_id, device ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) - (end_ns - start_ns) AS computed_ns
    FROM computing
),
marked AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id,
        greatest(k.start_ns, l.start_ns) AS start_ns, least(k.end_ns, l.end_ns) AS end_ns
    FROM layer_kernels AS k
    JOIN layers AS l
        ON l.trace_id = k.trace_id
        AND l.device = k.device
        AND l.pass_id = k.pass_id
        AND l.layer_id = k.layer_id
    JOIN category_groups AS g
        ON g.category = k.category AND g.category_group = 'communication'
    WHERE k.kind <> 'memory' AND k.start_ns < l.end_ns AND k.end_ns > l.start_ns
),
communicating AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id,
        greatest(start_ns, coalesce(before_ns, start_ns)) AS start_ns,
        greatest(end_ns, coalesce(before_ns, end_ns)) AS end_ns
    FROM (
        SELECT
            trace_id, rank, device, pass_id, layer_id, start_ns, end_ns, max(end_ns) OVER (
                PARTITION BY trace_id, device, pass_id, layer_id ORDER BY start_ns
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before_ns
        FROM marked
    )
),
exposed AS (
    SELECT
        c.trace_id, c.rank, c.device, c.pass_id, c.layer_id,
        sum(
            c.end_ns - c.start_ns
            - coalesce(e.computed_ns + least(c.end_ns, e.end_ns) - e.start_ns, 0)
            + coalesce(s.computed_ns + least(c.start_ns, s.end_ns) - s.start_ns, 0)
        ) / 1000.0 AS exposed_us
    FROM communicating AS c
    ASOF LEFT JOIN summed AS s
        ON s.trace_id = c.trace_id AND s.device = c.device AND s.start_ns <= c.start_ns
    ASOF LEFT JOIN summed AS e
        ON e.trace_id = c.trace_id AND e.device = c.device AND e.start_ns <= c.end_ns
    GROUP BY c.trace_id, c.rank, c.device, c.pass_id, c.layer_id
),
named AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, arg_max(category, (sum_us, category)) AS category
    FROM layer_categories
    WHERE category_group = 'communication'
    GROUP BY trace_id, rank, device, pass_id, layer_id
)
SELECT e.trace_id, e.rank, e.device, e.pass_id, e.layer_id, n.category, e.exposed_us
FROM exposed AS e
JOIN named AS n
    ON n.trace_id = e.trace_id
    AND n.device = e.device
    AND n.pass_id = e.pass_id
    AND n.layer_id = e.layer_id;

-- One row per pass and layer: the time from its start to its end in which the device runs nothing;
-- an operation that only encloses others runs nothing of its own. The time between two operations
-- of a device that do not overlap is idle; its running sum at the layer's end minus that at its
-- start is the layer's.
CREATE VIEW _idle_layers AS
WITH pauses AS (
    SELECT
        trace_id, device,
        max(end_ns) OVER (in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS start_ns,
        start_ns AS end_ns
    FROM kernels
    ANTI JOIN enclosing_kernels USING (trace_id, kernel_id)
    WHERE category <> 'wait'
    WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY start_ns)
    QUALIFY
        start_ns > max(end_ns) OVER (in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
summed AS (
    SELECT
        trace_id, device, start_ns, end_ns,
        sum(end_ns - start_ns) OVER (
            PARTITION BY trace_id, device ORDER BY start_ns ROWS UNBOUNDED PRECEDING
        ) - (end_ns - start_ns) AS before_ns
    FROM pauses
)
SELECT
    l.trace_id, l.device, l.pass_id, l.layer_id,
    coalesce(e.before_ns + least(l.end_ns, e.end_ns) - e.start_ns, 0)
    - coalesce(s.before_ns + least(l.start_ns, s.end_ns) - s.start_ns, 0) AS idle_ns
FROM layers AS l
ASOF LEFT JOIN summed AS s
    ON s.trace_id = l.trace_id AND s.device = l.device AND s.start_ns <= l.start_ns
ASOF LEFT JOIN summed AS e
    ON e.trace_id = l.trace_id AND e.device = l.device AND e.start_ns <= l.end_ns;

-- One row per pass and layer with what decides a pass's bottleneck. An outlier takes more than
-- twice the median wall time of its type in the pass, and the device is idle for more than half of
-- what it takes beyond the median: the first call of a program, a stall of the host. A layer whose
-- kernels take longer (experts with more tokens, a wider network) is not an outlier. At most half
-- of the layers of a type are outliers.
CREATE VIEW _judged_layers AS
WITH timed AS (
    SELECT
        l.trace_id, l.rank, l.device, l.pass_id, l.layer_id, l.layer_type, l.layer_kind, l.wall_us,
        l.busy_us, i.idle_ns, median(l.wall_us) OVER alike AS median_us,
        median(i.idle_ns) OVER alike AS median_idle_ns
    FROM _typed_layers AS l
    JOIN _idle_layers AS i
        ON i.trace_id = l.trace_id
        AND i.device = l.device
        AND i.pass_id = l.pass_id
        AND i.layer_id = l.layer_id
    WINDOW alike AS (PARTITION BY l.trace_id, l.device, l.pass_id, l.layer_type, l.layer_kind)
)
SELECT
    trace_id, rank, device, pass_id, layer_id, layer_type, layer_kind, wall_us, busy_us, idle_ns,
    wall_us / nullif(median_us, 0) AS times_median,
    wall_us > 2 * median_us
    AND (idle_ns - median_idle_ns) / 1000 > 0.5 * (wall_us - median_us) AS is_outlier
FROM timed;

-- One row per pass: the type of layer that takes most of its time, and what to look at first there.
--
-- That is the kernel category with the most time, or idle if the device runs nothing for longer.
-- Communication counts only where the device computes nothing meanwhile.
--
-- An outlier is a layer that takes more than twice the median wall time of its type, and for more
-- than half of the excess the device runs nothing: that tells nothing about its type. Outliers have
-- columns of their own; the others leave them out.
--
-- stored: per trace
--
-- key: trace_id, device, pass_id, layer_type?, layer_kind?
--
-- trace_id         VARCHAR   trace
-- rank             INTEGER   rank in the job, NULL if unknown
-- device           INTEGER   device the layers ran on
-- pass_id          BIGINT    pass, from 0 in time order
-- layer_type       VARCHAR   type with the largest summed wall time, NULL if unknown
-- layer_kind       VARCHAR   its kind by the kernels, as in layer_types
-- layers           BIGINT    layers of the type
-- type_count       BIGINT    types of layers in the pass
-- pass_pct         DOUBLE    share of the summed wall times of all layers of the pass
-- target           VARCHAR   kernel category with the most time in them, or idle
-- target_pct       DOUBLE    its share of the layers' summed wall times
-- target_note      VARCHAR   why target_pct is above 100, NULL if it is not
-- idle_pct         DOUBLE    share of those wall times in which the device runs nothing
-- category         VARCHAR   kernel category with most time in them
-- coverage_pct     DOUBLE    share of the device's busy time that the layers of all passes of the
--                            series hold: below 50 this is not a bottleneck of the trace
-- min_wall_us      DOUBLE    shortest wall time of a layer of the type
-- max_wall_us      DOUBLE    longest of them
-- shortest_id      BIGINT    layer with the shortest, the first of several
-- longest_id       BIGINT    layer with the longest, the first of several
-- min_busy_us      DOUBLE    shortest time with a kernel of the layer running
-- max_busy_us      DOUBLE    longest of these times; where it differs less than the wall times, the
--                            layers wait for different times
-- outlier_ids      BIGINT[]  outliers of the pass, of all types, longest first; NULL if it has none
-- outlier_pct      DOUBLE    share of the summed wall times of all layers and outliers
-- outlier_ratio    DOUBLE    wall time of the first over the median of its type
-- outlier_idle_pct DOUBLE    share of the outliers' wall times in which the device runs nothing
CREATE VIEW layer_bottlenecks AS
WITH types AS (
    SELECT
        trace_id, rank, device, pass_id, layer_type, layer_kind, count(*) AS layers,
        sum(_whole_ns(wall_us)) AS wall_ns,
        100 * sum(idle_ns) / nullif(sum(_whole_ns(wall_us)), 0) AS idle_pct,
        100.0 * sum(_whole_ns(wall_us)) / nullif(sum(sum(_whole_ns(wall_us))) OVER pass, 0)
            AS pass_pct,
        min(wall_us) AS min_wall_us, max(wall_us) AS max_wall_us,
        arg_min(layer_id, (wall_us, layer_id)) AS shortest_id,
        arg_min(layer_id, (-wall_us, layer_id)) AS longest_id,
        min(busy_us) AS min_busy_us, max(busy_us) AS max_busy_us,
        count(*) OVER pass AS type_count
    FROM _judged_layers
    WHERE NOT is_outlier
    GROUP BY trace_id, rank, device, pass_id, layer_type, layer_kind
    WINDOW pass AS (PARTITION BY trace_id, device, pass_id)
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, device, pass_id
        ORDER BY sum(_whole_ns(wall_us)) DESC, min(layer_id)
    ) = 1
),
outliers AS (
    SELECT
        trace_id, device, pass_id,
        list(layer_id ORDER BY wall_us DESC, layer_id) FILTER (is_outlier) AS outlier_ids,
        100.0 * sum(_whole_ns(wall_us)) FILTER (is_outlier)
        / nullif(sum(_whole_ns(wall_us)), 0) AS outlier_pct,
        arg_max(times_median, (wall_us, -layer_id)) FILTER (is_outlier) AS outlier_ratio,
        100.0 * sum(idle_ns) FILTER (is_outlier)
        / nullif(sum(_whole_ns(wall_us)) FILTER (is_outlier), 0) AS outlier_idle_pct
    FROM _judged_layers
    GROUP BY trace_id, device, pass_id
),
parts AS (
    SELECT trace_id, device, pass_id, layer_id, category, sum_us AS time_us
    FROM layer_categories
    WHERE category_group <> 'communication'
    UNION ALL
    SELECT trace_id, device, pass_id, layer_id, category, exposed_us FROM _exposed_layers
),
heaviest AS (
    SELECT
        l.trace_id, l.device, l.pass_id, l.layer_type, l.layer_kind, p.category,
        sum(_whole_ns(p.time_us)) AS time_ns
    FROM _judged_layers AS l
    JOIN parts AS p
        ON p.trace_id = l.trace_id
        AND p.device = l.device
        AND p.pass_id = l.pass_id
        AND p.layer_id = l.layer_id
    WHERE NOT l.is_outlier
    GROUP BY l.trace_id, l.device, l.pass_id, l.layer_type, l.layer_kind, p.category
    QUALIFY row_number() OVER (
        PARTITION BY l.trace_id, l.device, l.pass_id, l.layer_type, l.layer_kind
        ORDER BY sum(_whole_ns(p.time_us)) DESC, p.category
    ) = 1
),
shares AS (
    SELECT
        t.trace_id, t.rank, t.device, t.pass_id, t.layer_type, t.layer_kind, t.layers, t.type_count,
        t.pass_pct, t.idle_pct, t.min_wall_us, t.max_wall_us, t.shortest_id, t.longest_id,
        t.min_busy_us, t.max_busy_us, h.category,
        100 * h.time_ns / nullif(t.wall_ns, 0) AS category_pct
    FROM types AS t
    JOIN heaviest AS h
        ON h.trace_id = t.trace_id
        AND h.device = t.device
        AND h.pass_id = t.pass_id
        AND h.layer_type IS NOT DISTINCT FROM t.layer_type
        AND h.layer_kind IS NOT DISTINCT FROM t.layer_kind
)
SELECT
    s.trace_id, s.rank, s.device, s.pass_id, s.layer_type, s.layer_kind, s.layers, s.type_count,
    s.pass_pct, CASE WHEN s.idle_pct > s.category_pct THEN 'idle' ELSE s.category END AS target,
    greatest(s.idle_pct, s.category_pct) AS target_pct,
    CASE
        WHEN greatest(s.idle_pct, s.category_pct) > 100
            THEN 'its kernels overlap, and their durations are added up'
    END AS target_note,
    s.idle_pct, s.category, p.coverage_pct, s.min_wall_us, s.max_wall_us, s.shortest_id,
    s.longest_id, s.min_busy_us, s.max_busy_us, o.outlier_ids, o.outlier_pct, o.outlier_ratio,
    o.outlier_idle_pct
FROM shares AS s
JOIN outliers AS o
    ON o.trace_id = s.trace_id AND o.device = s.device AND o.pass_id = s.pass_id
JOIN passes AS p
    ON p.trace_id = s.trace_id AND p.device = s.device
    AND p.pass_id = s.pass_id;
