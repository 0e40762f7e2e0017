-- One row per kernel of a replayed graph and its kernel in a capture: the two sequences of names
-- are aligned in order.
--
-- A kernel's name may differ, for example if a library chose another variant of a product during
-- capture. So names that occur equally often in both sequences are anchors: the n-th occurrences
-- are paired, unless that crosses another such pair. Between two anchors the n-th kernels of a name
-- are paired, again without crossings. If the remaining kernels between two pairs are equally many
-- on both sides and share no name, they are the renamed kernels. A capture matches a replay if nine
-- of ten kernels of the longer sequence are paired by name; of several the one with the most.
--
-- CUDA does not name the kernels that it captures. Then the n-th launch is the n-th kernel, if
-- there are equally many and nineteen of twenty kernels that are products, convolutions or
-- attention by their names were launched by operators that do such work.
--
-- stored: per trace
--
-- others: _capture_links
--
-- trace_id          VARCHAR  trace of the replay
-- sequence          VARCHAR  digest of the names of the replay's kernels, in order
-- position          BIGINT   place of the kernel among them, from 0
-- capture_sequence  VARCHAR  digest of the names of the capture's kernels, in order
-- capture_position  BIGINT   place of the kernel among them, from 0
-- is_renamed        BOOLEAN  the two names differ; NULL where the capture has none
-- kernels           BIGINT   kernels of the replay
-- capture_kernels   BIGINT   kernels of the capture
CREATE VIEW _capture_pairs AS
WITH links AS (
    SELECT DISTINCT trace_id, sequence, other_sequence FROM _capture_links
),
replayed AS (
    SELECT DISTINCT trace_id, sequence, position, name, category FROM _capture_replays
),
captured AS (
    SELECT DISTINCT sequence AS other_sequence, position, name, op_category FROM _capture_launches
),
-- A product counts as one in any of its categories.
launched AS (
    SELECT
        links.trace_id, links.sequence, links.other_sequence, position,
        CASE
            WHEN starts_with(category, 'gemm') THEN 'gemm'
            WHEN category IN ('attention', 'conv', 'moe_gemm') THEN category
        END AS work,
        op_category
    FROM links
    JOIN replayed USING (trace_id, sequence)
    JOIN captured USING (other_sequence, position)
    WHERE captured.name IS NULL
),
unnamed_captures AS (
    SELECT trace_id, sequence, other_sequence, count(*) AS kernels
    FROM launched
    GROUP BY trace_id, sequence, other_sequence
    HAVING
        count(*) FILTER (work = op_category) >= 0.95 * count(work) AND count(work) > 0
),
sides AS (
    SELECT
        links.trace_id, links.sequence, links.other_sequence, 'replay' AS side, position, name
    FROM links
    JOIN replayed USING (trace_id, sequence)
    UNION ALL
    SELECT links.trace_id, links.sequence, links.other_sequence, 'capture', position, name
    FROM links
    JOIN captured USING (other_sequence)
),
counted AS MATERIALIZED (
    SELECT
        trace_id, sequence, other_sequence, side, position, name,
        count(*) OVER one_side AS kernels,
        count(*) OVER one_name AS times,
        row_number() OVER (one_name ORDER BY position) AS nth
    FROM sides
    WINDOW
        one_side AS (PARTITION BY trace_id, sequence, other_sequence, side),
        one_name AS (PARTITION BY trace_id, sequence, other_sequence, side, name)
),
places AS (
    SELECT
        here.trace_id, here.sequence, here.other_sequence, here.position,
        there.position AS other_position
    FROM counted AS here
    JOIN counted AS there USING (trace_id, sequence, other_sequence, name, times, nth)
    WHERE here.side = 'replay' AND there.side = 'capture'
    WINDOW
        one_pair AS (PARTITION BY here.trace_id, here.sequence, here.other_sequence),
        before_it AS (
            one_pair ORDER BY here.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        after_it AS (
            one_pair ORDER BY here.position DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
    -- Of two pairs that cross, neither counts.
    QUALIFY
        other_position > coalesce(max(other_position) OVER before_it, -1)
        AND coalesce(other_position < min(other_position) OVER after_it, TRUE)
),
place_sides AS (
    SELECT trace_id, sequence, other_sequence, 'replay' AS side, position FROM places
    UNION ALL
    SELECT trace_id, sequence, other_sequence, 'capture', other_position FROM places
),
between_places AS (
    SELECT
        counted.*,
        place_sides.position IS NOT NULL AS is_place,
        count(place_sides.position) OVER (
            PARTITION BY counted.trace_id, counted.sequence, counted.other_sequence, counted.side
            ORDER BY counted.position
        ) AS gap
    FROM counted
    LEFT JOIN place_sides USING (trace_id, sequence, other_sequence, side, position)
),
left_over AS MATERIALIZED (
    SELECT
        trace_id, sequence, other_sequence, side, position, name, gap,
        row_number() OVER (
            PARTITION BY trace_id, sequence, other_sequence, side, gap, name ORDER BY position
        ) AS nth
    FROM between_places
    WHERE NOT is_place
),
fillers AS (
    SELECT
        here.trace_id, here.sequence, here.other_sequence, here.position,
        there.position AS other_position
    FROM left_over AS here
    JOIN left_over AS there USING (trace_id, sequence, other_sequence, gap, name, nth)
    WHERE here.side = 'replay' AND there.side = 'capture'
    WINDOW
        one_gap AS (PARTITION BY here.trace_id, here.sequence, here.other_sequence, gap),
        before_it AS (
            one_gap ORDER BY here.position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        after_it AS (
            one_gap ORDER BY here.position DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
    QUALIFY
        other_position > coalesce(max(other_position) OVER before_it, -1)
        AND coalesce(other_position < min(other_position) OVER after_it, TRUE)
),
named AS MATERIALIZED (
    SELECT trace_id, sequence, other_sequence, position, other_position FROM places
    UNION ALL
    SELECT trace_id, sequence, other_sequence, position, other_position FROM fillers
),
sizes AS (
    SELECT
        trace_id, sequence, other_sequence,
        max(kernels) FILTER (side = 'replay') AS kernels,
        max(kernels) FILTER (side = 'capture') AS capture_kernels
    FROM counted
    GROUP BY trace_id, sequence, other_sequence
),
own AS MATERIALIZED (
    SELECT sizes.trace_id, sizes.sequence, sizes.other_sequence, kernels, capture_kernels
    FROM sizes
    JOIN (
        SELECT trace_id, sequence, other_sequence, count(*) AS pairs
        FROM named
        GROUP BY trace_id, sequence, other_sequence
    ) USING (trace_id, sequence, other_sequence)
    WHERE pairs >= 0.9 * greatest(kernels, capture_kernels)
    QUALIFY rank() OVER (
        PARTITION BY trace_id, sequence
        ORDER BY pairs / greatest(kernels, capture_kernels) DESC
    ) = 1
),
named_sides AS (
    SELECT trace_id, sequence, other_sequence, 'replay' AS side, position FROM named
    UNION ALL
    SELECT trace_id, sequence, other_sequence, 'capture', other_position FROM named
),
between_names AS (
    SELECT
        counted.trace_id, counted.sequence, counted.other_sequence, counted.side,
        counted.position, counted.name,
        named_sides.position IS NOT NULL AS is_named,
        count(named_sides.position) OVER (
            PARTITION BY counted.trace_id, counted.sequence, counted.other_sequence, counted.side
            ORDER BY counted.position
        ) AS gap
    FROM counted
    SEMI JOIN own USING (trace_id, sequence, other_sequence)
    LEFT JOIN named_sides USING (trace_id, sequence, other_sequence, side, position)
),
unnamed AS MATERIALIZED (
    SELECT
        trace_id, sequence, other_sequence, side, position, name, gap,
        row_number() OVER (one_gap ORDER BY position) AS nth,
        count(*) OVER one_gap AS length
    FROM between_names
    WHERE NOT is_named
    WINDOW one_gap AS (PARTITION BY trace_id, sequence, other_sequence, side, gap)
),
-- A name left over on both sides is in another order, not renamed.
swapped AS (
    SELECT DISTINCT trace_id, sequence, other_sequence, gap
    FROM unnamed AS here
    JOIN unnamed AS there USING (trace_id, sequence, other_sequence, gap, name)
    WHERE here.side = 'replay' AND there.side = 'capture'
),
paired AS (
    SELECT trace_id, sequence, other_sequence, position, other_position, FALSE AS is_renamed
    FROM named
    UNION ALL
    SELECT
        here.trace_id, here.sequence, here.other_sequence, here.position, there.position, TRUE
    FROM unnamed AS here
    JOIN unnamed AS there USING (trace_id, sequence, other_sequence, gap, length, nth)
    ANTI JOIN swapped USING (trace_id, sequence, other_sequence, gap)
    WHERE here.side = 'replay' AND there.side = 'capture'
)
SELECT
    trace_id, sequence, position,
    other_sequence AS capture_sequence,
    other_position AS capture_position,
    is_renamed, own.kernels, own.capture_kernels
FROM paired
JOIN own USING (trace_id, sequence, other_sequence)
UNION ALL
SELECT
    trace_id, sequence, position, other_sequence, position, CAST(NULL AS BOOLEAN), kernels, kernels
FROM launched
JOIN unnamed_captures USING (trace_id, sequence, other_sequence);
