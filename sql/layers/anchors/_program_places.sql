-- One row per layer of a program with layers: how many operations precede its anchor in the layer
-- and, for the last layer, how many follow it.
-- The search walks back from the first anchor. An operation matches if equally many of its family
-- precede most other anchors, in the same order; the walk ends where the others have a product that
-- layer 0 lacks. The last match opens layer 0, and its counterpart opens each later layer. If kinds
-- of layers alternate, others are those of one kind; layers of another kind are opened by the first
-- of these operations that they have with as many products after it. No layer
-- opens with a collective, which sums the embedding: the next operation opens it, even if it is
-- another kernel in later layers (the first norm has no residual input). One in the loop of the
-- layers does open them, and so does one that gathers: weights that the layer needs. The
-- counterpart of the operation that ends the other layers ends the last one. If layers are turns of
-- several loops, they begin with their anchors, and the last one ends as other turns of its loop.
-- If only some layers are turns of a loop, these begin with its first instruction, and the others
-- do not reach into it.
CREATE VIEW _program_edges AS
WITH anchors_of AS (
    SELECT
        trace_id, device, program, run_id, seq, layer_id, num_layers, kinds, opens_turn,
        if(opens_turn, family, NULL) AS opener, is_looped,
        nullif(count(*) FILTER (is_looped) OVER in_run, count(*) OVER in_run) AS looped_layers
    FROM _program_anchors
    WHERE is_sample AND is_whole
    WINDOW in_run AS (PARTITION BY trace_id, device, program)
),
-- The first instruction of a loop that has only some of the layers, and the loop's last operation.
partial_loops AS (
    SELECT
        trace_id, device, program, arg_min(family, first_seq) AS loop_opener,
        max(last_seq) AS loop_seq
    FROM (
        SELECT
            o.trace_id, o.device, o.program, o.family, min(o.seq) AS first_seq,
            max(o.seq) AS last_seq, count(*) = any_value(a.looped_layers) AS is_of_layers
        FROM _program_operations AS o
        JOIN (SELECT DISTINCT trace_id, device, run_id, looped_layers FROM anchors_of) AS a
            ON a.trace_id = o.trace_id AND a.device = o.device AND a.run_id = o.run_id
        WHERE o.is_looped AND a.looped_layers > 0
        GROUP BY o.trace_id, o.device, o.program, o.family
    )
    WHERE is_of_layers
    GROUP BY trace_id, device, program
),
turns AS (
    SELECT o.trace_id, o.device, o.program, o.seq
    FROM _program_operations AS o
    JOIN partial_loops AS l
        ON l.trace_id = o.trace_id AND l.device = o.device AND l.program = o.program
        AND l.loop_opener = o.family
    SEMI JOIN anchors_of AS a
        ON a.trace_id = o.trace_id AND a.device = o.device AND a.run_id = o.run_id
),
before AS (
    SELECT
        o.trace_id, o.device, o.program, a.layer_id, a.num_layers, a.kinds,
        a.seq - o.seq AS steps,
        if(a.looped_layers > 0, o.name_family, o.family) AS family,
        o.is_collective AND NOT o.is_looped AND NOT contains(lower(o.family), 'gather')
            AS is_collective, o.is_product,
        count(CASE WHEN o.is_product THEN 1 END) OVER (
            PARTITION BY o.trace_id, o.device, o.program, a.layer_id ORDER BY o.seq DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS products,
        row_number() OVER (
            PARTITION BY
                o.trace_id, o.device, o.program, a.layer_id,
                if(a.looped_layers > 0, o.name_family, o.family)
            ORDER BY o.seq DESC
        ) AS occurrence
    FROM (
        SELECT *, seq AS op_seq FROM _program_operations
    ) AS o
    ASOF JOIN anchors_of AS a
        ON a.trace_id = o.trace_id AND a.device = o.device AND a.run_id = o.run_id
        AND a.seq > o.op_seq
),
usual AS (
    SELECT *, count(CASE WHEN is_product THEN 1 END) OVER (
        PARTITION BY trace_id, device, program ORDER BY steps, family
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS products
    FROM (
        SELECT
            trace_id, device, program, family, occurrence, median(steps) AS steps,
            any_value(is_product) AS is_product, any_value(is_collective) AS is_collective
        FROM before
        WHERE layer_id > 0 AND layer_id % kinds = 0
        GROUP BY trace_id, device, program, family, occurrence, num_layers, kinds
        HAVING 2 * count(*) >= num_layers // kinds - 1
    )
),
compared AS (
    SELECT
        b.trace_id, b.device, b.program, b.steps, b.is_collective, b.is_product, u.family,
        u.occurrence, u.products, u.steps AS usual_steps
    FROM before AS b
    JOIN usual AS u
        ON u.trace_id = b.trace_id AND u.device = b.device AND u.program = b.program
        AND u.family = b.family AND u.occurrence = b.occurrence
    WHERE b.layer_id = 0
    QUALIFY u.steps > coalesce(max(u.steps) OVER (
        PARTITION BY b.trace_id, b.device, b.program ORDER BY b.steps
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)
),
walked AS (
    SELECT
        *, bool_and(products = seen) OVER (
            PARTITION BY trace_id, device, program ORDER BY steps
        ) AS is_reached
    FROM (
        SELECT
            *, count(CASE WHEN is_product THEN 1 END) OVER (
                PARTITION BY trace_id, device, program ORDER BY steps
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS seen
        FROM compared
    )
),
reached AS (
    SELECT
        trace_id, device, program, max(steps) AS steps, max(usual_steps) AS usual_steps,
        arg_max(is_collective, steps) AS is_collective, arg_max(is_product, steps) AS is_product
    FROM walked
    WHERE is_reached
    GROUP BY trace_id, device, program
),
-- If the walk ends at a product, the layer begins with the light operation before it, provided that
-- one follows a heavy operation.
normed AS (
    SELECT
        r.trace_id, r.device, r.program, r.steps + 1 AS steps, u.steps AS usual_steps,
        FALSE AS is_collective
    FROM reached AS r
    JOIN usual AS u
        ON u.trace_id = r.trace_id AND u.device = r.device AND u.program = r.program
        AND u.steps = r.usual_steps + 1 AND NOT u.is_product AND NOT u.is_collective
    JOIN usual AS h
        ON h.trace_id = r.trace_id AND h.device = r.device AND h.program = r.program
        AND h.steps = r.usual_steps + 2 AND (h.is_product OR h.is_collective)
    JOIN before AS b
        ON b.trace_id = r.trace_id AND b.device = r.device AND b.program = r.program
        AND b.layer_id = 0 AND b.steps = r.steps + 1 AND NOT b.is_product AND NOT b.is_collective
    WHERE r.is_product
),
begun AS (
    SELECT trace_id, device, program, steps, usual_steps, is_collective
    FROM reached AS r
    ANTI JOIN normed USING (trace_id, device, program)
    UNION ALL
    SELECT trace_id, device, program, steps, usual_steps, is_collective
    FROM normed
),
first_openers AS (
    SELECT
        r.trace_id, r.device, r.program, r.steps - CAST(r.is_collective AS BIGINT) AS steps,
        arg_max((u.family, u.occurrence), u.steps) AS opener, max(u.steps) AS usual_steps
    FROM begun AS r
    LEFT JOIN usual AS u
        ON u.trace_id = r.trace_id AND u.device = r.device AND u.program = r.program
        AND (u.steps < r.usual_steps OR (u.steps = r.usual_steps AND NOT r.is_collective))
    GROUP BY r.trace_id, r.device, r.program, r.steps, r.is_collective
),
openers AS (
    SELECT trace_id, device, program, 0 AS kind, steps, opener
    FROM first_openers
    UNION ALL
    SELECT
        b.trace_id, b.device, b.program, b.layer_id AS kind, max(b.steps) AS steps,
        arg_max((b.family, b.occurrence), b.steps) AS opener
    FROM before AS b
    JOIN first_openers AS f
        ON f.trace_id = b.trace_id AND f.device = b.device AND f.program = b.program
    JOIN usual AS u
        ON u.trace_id = b.trace_id AND u.device = b.device AND u.program = b.program
        AND u.family = b.family AND u.occurrence = b.occurrence AND u.products = b.products
    WHERE b.layer_id BETWEEN 1 AND b.kinds - 1 AND u.steps <= f.usual_steps
    GROUP BY b.trace_id, b.device, b.program, b.layer_id
),
leads AS (
    SELECT
        a.trace_id, a.device, a.program, a.run_id, a.layer_id, a.num_layers, a.kinds, a.seq,
        a.opener,
        CASE
            WHEN a.opens_turn THEN 0
            WHEN a.is_looped AND t.seq IS NOT NULL THEN a.seq - t.seq
            WHEN a.layer_id = 0 THEN coalesce(o.steps, 0)
            ELSE least(
                coalesce(b.steps, o.steps, 0), if(l.loop_seq < a.seq, a.seq - l.loop_seq - 1, NULL)
            )
        END AS lead
    FROM anchors_of AS a
    LEFT JOIN partial_loops AS l
        ON l.trace_id = a.trace_id AND l.device = a.device AND l.program = a.program
    ASOF LEFT JOIN turns AS t
        ON t.trace_id = a.trace_id AND t.device = a.device AND t.program = a.program
        AND t.seq <= a.seq
    LEFT JOIN openers AS o
        ON o.trace_id = a.trace_id AND o.device = a.device AND o.program = a.program
        AND o.kind = a.layer_id % a.kinds
    LEFT JOIN before AS b
        ON b.trace_id = a.trace_id AND b.device = a.device AND b.program = a.program
        AND b.layer_id = a.layer_id AND b.family = o.opener[1] AND b.occurrence = o.opener[2]
),
ends AS (
    SELECT
        *, lead(seq - lead) OVER (in_run ORDER BY layer_id) AS next_seq,
        opener IS NOT DISTINCT FROM arg_max(opener, layer_id) OVER in_run AS is_of_last_loop
    FROM leads
    WINDOW in_run AS (PARTITION BY trace_id, device, program)
),
after AS (
    SELECT
        o.trace_id, o.device, o.program, e.layer_id, e.num_layers, o.seq - e.seq AS steps, o.family,
        o.seq = e.next_seq - 1 AND e.is_of_last_loop
        AND (e.layer_id + 1) % e.kinds = 0 AS is_last,
        row_number() OVER (
            PARTITION BY o.trace_id, o.device, o.program, e.layer_id, o.family ORDER BY o.seq
        ) AS occurrence
    FROM (
        SELECT *, seq AS op_seq FROM _program_operations
    ) AS o
    ASOF JOIN ends AS e
        ON e.trace_id = o.trace_id AND e.device = o.device AND e.run_id = o.run_id
        AND e.seq <= o.op_seq
),
closers AS (
    SELECT
        trace_id, device, program, any_value(num_layers) AS num_layers,
        mode((family, occurrence) ORDER BY layer_id) AS closer,
        quantile_disc(steps, 0.5) AS steps
    FROM after
    WHERE is_last
    GROUP BY trace_id, device, program
)
SELECT
    e.trace_id, e.device, e.program, e.layer_id, e.lead,
    CASE WHEN e.layer_id = e.num_layers - 1 THEN coalesce(a.steps, c.steps, 0) END AS tail
FROM ends AS e
LEFT JOIN closers AS c
    ON c.trace_id = e.trace_id AND c.device = e.device AND c.program = e.program
LEFT JOIN after AS a
    ON a.trace_id = e.trace_id AND a.device = e.device AND a.program = e.program
    AND a.layer_id = e.layer_id AND e.layer_id = e.num_layers - 1
    AND a.family = c.closer[1] AND a.occurrence = c.closer[2];

-- One row per operation of a run whose program has layers: the layer that it is in, or the part of
-- the pass before or after them. A run is a pass; a layer extends to the next one.
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- series        VARCHAR  the program
-- stream        BIGINT   stream of the operation
-- kernel_id     BIGINT   the operation
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- anchor_count  BIGINT   anchors on the device
-- remainder     BIGINT   anchors of runs that the capture cuts
-- num_layers    INTEGER  layers of a run
-- pass_id       BIGINT   run on the device, from 0 in time order
-- direction     VARCHAR  forward or backward if runs of the program run backward, else NULL
-- layer_id      BIGINT   layer, NULL outside the layers
-- part          VARCHAR  prologue or epilogue, NULL in a layer
CREATE VIEW _program_places AS
WITH totals AS (
    SELECT
        trace_id, device, count(*) AS anchor_count,
        count(*) FILTER (NOT is_whole) AS remainder
    FROM _program_anchors
    GROUP BY trace_id, device
),
starts AS (
    SELECT
        a.trace_id, a.device, a.run_id, a.layer_id, a.num_layers, a.seq - e.lead AS seq,
        a.seq + e.tail AS end_seq
    FROM _program_anchors AS a
    JOIN _program_edges AS e
        ON e.trace_id = a.trace_id AND e.device = a.device AND e.program = a.program
        AND e.layer_id = a.layer_id
    WHERE a.is_whole
),
runs AS (
    SELECT trace_id, device, run_id, max(num_layers) AS num_layers, max(end_seq) AS end_seq
    FROM starts
    GROUP BY trace_id, device, run_id
),
operations AS (
    SELECT
        o.*, r.num_layers, r.end_seq, o.seq AS op_seq,
        dense_rank() OVER (PARTITION BY o.trace_id, o.device ORDER BY o.run_ns, o.run_id) - 1
            AS pass_id
    FROM _program_operations AS o
    JOIN runs AS r ON r.trace_id = o.trace_id AND r.device = o.device AND r.run_id = o.run_id
)
SELECT
    o.trace_id, o.rank, o.device, regexp_replace(o.program, '\(\d+\)( backward)?$', '') AS series,
    o.stream, o.kernel_id, o.start_ns, o.end_ns, t.anchor_count, t.remainder,
    CAST(o.num_layers AS INTEGER) AS num_layers, o.pass_id, o.direction,
    CASE
        WHEN o.op_seq > o.end_seq THEN NULL
        WHEN o.direction = 'backward' THEN o.num_layers - 1 - s.layer_id
        ELSE s.layer_id
    END AS layer_id,
    CASE
        WHEN s.layer_id IS NULL THEN 'prologue'
        WHEN o.op_seq > o.end_seq THEN 'epilogue'
    END AS part
FROM operations AS o
JOIN totals AS t ON t.trace_id = o.trace_id AND t.device = o.device
ASOF LEFT JOIN starts AS s
    ON s.trace_id = o.trace_id AND s.device = o.device AND s.run_id = o.run_id
    AND s.seq <= o.op_seq;
