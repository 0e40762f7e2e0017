-- One row per device operation that may nest in others, when and where it ran: XLA's from their
-- lines, all others from kernels. A kernel without a stream is left out: nothing shows that it
-- shares a line with another, such as a collective of Ascend with one of another group.
CREATE VIEW _op_rows AS
SELECT trace_id, kernel_id, pid, tid, start_ns, end_ns
FROM _xla_ops
UNION ALL
SELECT
    trace_id, kernel_id, coalesce(CAST(device AS VARCHAR), ''), CAST(stream AS VARCHAR), start_ns,
    end_ns
FROM kernels
ANTI JOIN (SELECT DISTINCT trace_id FROM _xla_ops) USING (trace_id)
WHERE dur_ns >= 0 AND stream IS NOT NULL;

-- One row per device operation that shares time with another of its line, in the order in which
-- they can be the innermost, cut where the next one ends later; see _op_nesting.
--
-- stored: meanwhile
CREATE VIEW _crowded_ops AS
WITH op_lines AS (
    -- A number is faster to sort and compare than three texts.
    SELECT
        trace_id, pid, tid,
        CAST(row_number() OVER (ORDER BY trace_id, pid, tid) AS INTEGER) AS line
    FROM (SELECT DISTINCT trace_id, pid, tid FROM _op_rows)
),
placed AS (
    SELECT
        line, kernel_id, start_ns, end_ns,
        row_number() OVER in_time AS place,
        lead(start_ns) OVER in_time AS next_start_ns,
        lead(end_ns) OVER in_time AS next_end_ns,
        lag(start_ns) OVER in_time AS last_start_ns,
        lag(end_ns) OVER in_time AS last_end_ns,
        max(end_ns) OVER (
            PARTITION BY line ORDER BY start_ns, end_ns DESC, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS so_far_ns
    FROM _op_rows
    JOIN op_lines USING (trace_id, pid, tid)
    WINDOW in_time AS (
        PARTITION BY line ORDER BY start_ns, end_ns DESC, kernel_id
    )
)
SELECT
    trace_id, line, kernel_id, place, start_ns,
    coalesce(start_ns >= so_far_ns, TRUE) AS is_apart,
    start_ns IS DISTINCT FROM last_start_ns AS is_longest,
    CASE
        WHEN next_start_ns < end_ns - 3 AND next_end_ns BETWEEN end_ns AND end_ns + 3
            THEN next_end_ns
        WHEN next_start_ns < end_ns AND next_end_ns > end_ns THEN next_start_ns
        ELSE end_ns
    END AS end_ns,
    next_start_ns < end_ns AND next_end_ns <= end_ns AS holds,
    coalesce(next_start_ns < end_ns - 3 AND next_end_ns > end_ns + 3, FALSE)
        OR coalesce(start_ns < last_end_ns - 3 AND end_ns > last_end_ns + 3, FALSE)
        AS is_crossed
FROM placed
JOIN op_lines USING (line)
WHERE start_ns < so_far_ns OR next_start_ns < end_ns;

-- One row per device operation that shares time with another of its line: the operation that
-- encloses it, and its own time.
--
-- At each moment the innermost operation counts: the one that started last; of several the one that
-- ends first, then the last in the file. So the own times of a line sum to the union of its
-- intervals. In the order (start, end descending, place in the file), an operation can be innermost
-- until one starts that ends later. Cut there, the intervals of a line only nest: the operation
-- around another is the latest to have started one level up, and its own time is its length minus
-- the lengths of those one level down.
--
-- If the next operation is the one that ends later, the cut is at its start. That leaves operations
-- that enclose others and are crossed at their end. Up to 3 ns of that are rounded picoseconds;
-- more shows in the sweep, where as many operations run when one ends as when it started, unless
-- some cross. The cut is searched for only among those.
--
-- stored: per trace
--
-- trace_id        VARCHAR  trace
-- kernel_id       BIGINT   event_id
-- self_ns         BIGINT   time in which it is the innermost of its line, ns
-- parent_id       BIGINT   event_id of the operation around it, NULL for the outermost
-- nest_depth      BIGINT   operations around it
-- is_overlapping  BOOLEAN  another starts within it and ends after it, or vice versa
CREATE VIEW _op_nesting AS
WITH starts AS (
    -- The longest of those that start at one moment.
    SELECT line, start_ns, end_ns FROM _crowded_ops WHERE is_longest
),
ends AS (
    -- Ends of operations that enclose others.
    SELECT
        h.line, h.place,
        CASE
            WHEN after.start_ns < h.end_ns AND after.end_ns >= h.end_ns
                THEN after.start_ns
            WHEN
                h.is_longest AND held.start_ns > h.start_ns
                AND held.end_ns BETWEEN h.end_ns AND h.end_ns + 3
                THEN held.end_ns
            ELSE h.end_ns
        END AS end_ns
    FROM (SELECT * FROM _crowded_ops WHERE holds) AS h
    ASOF LEFT JOIN starts AS after
        ON after.line = h.line
        AND after.start_ns >= greatest(h.end_ns - 3, h.start_ns + 1)
    ASOF LEFT JOIN starts AS held
        ON held.line = h.line
        AND held.start_ns <= h.end_ns - 4
),
spans AS (
    SELECT
        c.line, c.kernel_id, c.place, c.start_ns, c.is_crossed, c.is_apart,
        coalesce(ends.end_ns, c.end_ns) AS end_ns
    FROM _crowded_ops AS c
    LEFT JOIN ends USING (line, place)
),
edges AS (
    SELECT
        line, end_ns AS at_ns, 0 AS turn, -place AS turn_place, place, -1 AS step
    FROM spans
    WHERE end_ns > start_ns
    UNION ALL
    SELECT
        line, start_ns, 1, place, place, CAST(end_ns > start_ns AS INTEGER)
    FROM spans
),
swept AS (
    SELECT
        line, place, turn,
        sum(step) OVER (
            PARTITION BY line ORDER BY at_ns, turn, turn_place
            ROWS UNBOUNDED PRECEDING
        ) - greatest(step, 0) AS depth
    FROM edges
),
depths AS (
    SELECT
        line, place,
        max(depth) FILTER (turn = 1) AS depth,
        coalesce(min(depth) <> max(depth), FALSE) AS is_knotted
    FROM swept
    GROUP BY line, place
),
knotted_lines AS (
    SELECT
        spans.*, is_knotted,
        count(CASE WHEN is_apart THEN 1 END) OVER (
            PARTITION BY line ORDER BY place ROWS UNBOUNDED PRECEDING
        ) AS stretch
    FROM spans
    JOIN depths USING (line, place)
    SEMI JOIN (SELECT DISTINCT line FROM depths WHERE is_knotted)
        USING (line)
),
knots AS (
    SELECT
        line, kernel_id, place, start_ns, end_ns, is_crossed, stretch,
        -- The latest end of those that start inside.
        max(end_ns) OVER (
            PARTITION BY line ORDER BY start_ns
            RANGE BETWEEN CURRENT ROW AND greatest(end_ns - start_ns - 1, 0) FOLLOWING
        ) > end_ns AS is_cut,
        coalesce(max(end_ns) OVER (
            PARTITION BY line ORDER BY start_ns
            RANGE BETWEEN 1 FOLLOWING AND greatest(end_ns - start_ns - 4, 0) FOLLOWING
        ) > end_ns + 3, FALSE) AS is_cut_deep,
        -- The first to have started of those that end inside.
        coalesce(min(place) OVER (
            PARTITION BY line ORDER BY end_ns
            RANGE BETWEEN end_ns - start_ns PRECEDING AND 1 PRECEDING
        ) < place, FALSE) AS cuts,
        coalesce(min(place) OVER (
            PARTITION BY line ORDER BY end_ns
            RANGE BETWEEN greatest(end_ns - start_ns - 4, 0) PRECEDING AND 4 PRECEDING
        ) < place, FALSE) AS cuts_deep
    FROM knotted_lines
    SEMI JOIN (SELECT DISTINCT line, stretch FROM knotted_lines WHERE is_knotted)
        USING (line, stretch)
),
untied AS (
    SELECT
        k.line, k.kernel_id, k.place, k.start_ns,
        least(k.end_ns, min(other.start_ns)) AS end_ns,
        any_value(k.is_crossed OR k.is_cut_deep OR k.cuts_deep) AS is_overlapping
    FROM knots AS k
    LEFT JOIN knots AS other
        ON other.line = k.line
        AND other.stretch = k.stretch AND k.is_cut AND other.cuts AND other.place > k.place
        AND other.start_ns < k.end_ns AND other.end_ns > k.end_ns
    GROUP BY k.line, k.kernel_id, k.place, k.start_ns, k.end_ns
),
untied_edges AS (
    SELECT
        line, end_ns AS at_ns, 0 AS turn, -place AS turn_place, place, -1 AS step
    FROM untied
    WHERE end_ns > start_ns
    UNION ALL
    SELECT
        line, start_ns, 1, place, place, CAST(end_ns > start_ns AS INTEGER)
    FROM untied
),
untied_depths AS (
    SELECT
        line, place,
        sum(step) OVER (
            PARTITION BY line ORDER BY at_ns, turn, turn_place
            ROWS UNBOUNDED PRECEDING
        ) - step AS depth
    FROM untied_edges
    QUALIFY turn = 1
),
laid AS (
    SELECT
        s.line, s.kernel_id, s.place,
        CAST(coalesce(u.depth, depths.depth) AS BIGINT) AS depth,
        coalesce(u.end_ns, s.end_ns) - s.start_ns AS length_ns,
        coalesce(u.is_overlapping, s.is_crossed) AS is_overlapping
    FROM spans AS s
    JOIN depths USING (line, place)
    LEFT JOIN (
        SELECT line, place, end_ns, is_overlapping, depth
        FROM untied
        JOIN untied_depths USING (line, place)
    ) AS u USING (line, place)
),
nested AS (
    SELECT
        d.line, d.kernel_id, d.depth, d.length_ns, d.is_overlapping,
        around.kernel_id AS parent_id
    FROM laid AS d
    ASOF LEFT JOIN (
        SELECT line, kernel_id, place, depth + 1 AS inner_depth
        FROM laid
        WHERE length_ns > 0
    ) AS around
        ON around.line = d.line
        AND around.inner_depth = d.depth AND around.place < d.place
),
inside AS (
    SELECT line, parent_id AS kernel_id, sum(length_ns) AS inside_ns
    FROM nested
    WHERE parent_id IS NOT NULL
    GROUP BY line, parent_id
)
SELECT
    trace_id, kernel_id, CAST(length_ns - coalesce(inside_ns, 0) AS BIGINT) AS self_ns, parent_id,
    depth AS nest_depth, is_overlapping
FROM nested
JOIN (SELECT DISTINCT line, trace_id FROM _crowded_ops) USING (line)
LEFT JOIN inside USING (line, kernel_id);
