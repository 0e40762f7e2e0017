-- Whether an operation is an anchor of a kind: NULL for an attention that begins a beat, 'turn' for
-- what opens a turn of a loop, else a family.
CREATE MACRO _is_anchor(anchor, family, begins_beat, opener) AS
CASE
    WHEN anchor IS NULL THEN begins_beat
    WHEN anchor = 'turn' THEN opener IS NOT NULL
    ELSE family = anchor
END;

-- One row per anchor of a program that holds a fixed number of equal stretches: its layers. An
-- operation that occurs N times in a run may mark N layers. It does if the stretches from one to
-- the next have the same contents: a family is regular if most stretches have the same number of
-- it, and the regular ones, including a product, take most of the time, without collectives;
-- program_layer_limits has the limits. Stretches between attentions that are even, in time and in
-- products, have the same contents too. Attention is tried first. Of other operations, several may
-- recur in each layer, with what follows them: their stretches must also last equally long, and
-- have no more products than a layer, unless they are as many as the user has set. As many as given
-- come first, then the most frequent ones, except those that an anchor with nothing but regular
-- families in its stretches has in pairs or more. If none is left, the program has no layers. The
-- first run of usual length represents its program, since all runs execute the same instructions.
-- Runs without N anchors are not passes. Layers of several kinds may alternate: if all stretches of
-- another operation have the same contents, with as many attentions each, and as many products
-- follow each attention as a layer has, every attention is that of a layer.
--
-- Layers of two kinds may be in a loop for each, one after the other: dense layers, then those with
-- experts. If all attention is in such loops, and no product outside lies between them, each turn
-- of them is a layer, which begins with the first instruction of its loop.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- device       INTEGER  device
-- program      VARCHAR  program, with its fingerprint
-- run_id       BIGINT   the run
-- kernel_id    BIGINT   the anchor
-- family       VARCHAR  its family
-- opens_turn   BOOLEAN  it is the first instruction of a turn, with which the layer begins
-- is_looped    BOOLEAN  it is in a loop whose turns are layers
-- seq          BIGINT   its place in the run
-- layer_id     BIGINT   number of the anchor in the run, from 0
-- num_layers   BIGINT   anchors of a whole run
-- kinds        BIGINT   kinds of layers that alternate; 1 if all are alike, or their order is free
-- is_sample    BOOLEAN  the run stands for all of its program
-- is_whole     BOOLEAN  the run has that many
CREATE VIEW _program_anchors AS
WITH limits AS (
    SELECT
        max(value) FILTER (program_limit = 'same_stretches') AS same_stretches,
        max(value) FILTER (program_limit = 'equal_time') AS equal_time,
        max(value) FILTER (program_limit = 'run_time') AS run_time,
        max(value) FILTER (program_limit = 'clean_time') AS clean_time,
        max(value) FILTER (program_limit = 'uneven_time') AS uneven_time,
        max(value) FILTER (program_limit = 'layer_products') AS layer_products,
        max(value) FILTER (program_limit = 'attention_products') AS attention_products
    FROM program_layer_limits
),
runs AS (
    SELECT
        trace_id, device, program, run_id, any_value(run_ns) AS run_ns, count(*) AS operations
    FROM _program_operations
    GROUP BY trace_id, device, program, run_id
),
samples AS (
    SELECT
        trace_id, device, program, arg_min(run_id, (is_unusual, run_ns)) AS run_id
    FROM (
        SELECT
            *, operations <> mode(operations ORDER BY run_ns) OVER (
                PARTITION BY trace_id, device, program
            ) AS is_unusual
        FROM runs
    )
    GROUP BY trace_id, device, program
),
sample AS MATERIALIZED (
    SELECT o.*
    FROM _program_operations AS o
    SEMI JOIN samples AS s
        ON s.trace_id = o.trace_id AND s.device = o.device AND s.run_id = o.run_id
),
looped AS (
    SELECT
        trace_id, device, program, family, min(seq) AS first_seq, max(seq) AS last_seq,
        count(*) AS times, bool_or(begins_beat) AS is_attention
    FROM sample
    WHERE is_looped
    GROUP BY trace_id, device, program, family
),
-- The instructions of one loop overlap in the run.
grouped AS (
    SELECT *, count(CASE WHEN begins THEN 1 END) OVER (
        PARTITION BY trace_id, device, program ORDER BY first_seq ROWS UNBOUNDED PRECEDING
    ) AS nth_loop
    FROM (
        SELECT *, first_seq > coalesce(max(last_seq) OVER (
            PARTITION BY trace_id, device, program ORDER BY first_seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), first_seq - 1) AS begins
        FROM looped
    )
),
loops AS (
    SELECT
        trace_id, device, program, min(first_seq) AS first_seq, max(last_seq) AS last_seq,
        -- An instruction of a GPU may launch several kernels.
        min(times) AS turns, arg_min(family, (times, first_seq)) AS opener
    FROM grouped
    GROUP BY trace_id, device, program, nth_loop
    HAVING bool_or(is_attention)
),
several_loops AS (
    SELECT
        l.trace_id, l.device, l.program, any_value(l.openers) AS openers,
        any_value(l.turns) AS turns
    FROM (
        SELECT
            trace_id, device, program, min(first_seq) AS first_seq, max(last_seq) AS last_seq,
            list(opener) AS openers, CAST(sum(turns) AS BIGINT) AS turns
        FROM loops
        GROUP BY trace_id, device, program
        HAVING count(*) > 1
    ) AS l
    JOIN sample AS o
        ON o.trace_id = l.trace_id AND o.device = l.device AND o.program = l.program
    GROUP BY l.trace_id, l.device, l.program
    HAVING NOT bool_or(
        NOT o.is_looped
        AND (o.begins_beat OR o.is_product AND o.seq BETWEEN l.first_seq AND l.last_seq)
    )
),
openers AS (
    SELECT trace_id, device, program, unnest(openers) AS opener FROM several_loops
),
-- Of the families that occur equally often, the one with the most time is tried.
candidates AS (
    SELECT
        trace_id, device, program, anchor_count,
        arg_max(family, (is_attention, sum_ns, family)) AS anchor,
        max(is_attention) AS is_attention,
        arg_max(is_looped, (is_attention, sum_ns, family)) AS is_looped
    FROM (
        SELECT
            trace_id, device, program, family, count(*) AS anchor_count,
            sum(end_ns - start_ns) AS sum_ns, bool_or(begins_beat) AS is_attention,
            bool_or(is_looped) AS is_looped
        FROM sample
        GROUP BY trace_id, device, program, family
        HAVING count(*) > 2
    )
    GROUP BY trace_id, device, program, anchor_count
    UNION ALL
    SELECT trace_id, device, program, count(*), NULL, TRUE, FALSE
    FROM sample
    WHERE begins_beat
    GROUP BY trace_id, device, program
    HAVING count(*) > 1
    UNION ALL
    SELECT trace_id, device, program, turns, 'turn', TRUE, TRUE FROM several_loops
),
parted AS (
    SELECT
        c.trace_id, c.device, c.program, c.anchor, c.anchor_count, o.is_product,
        o.is_collective, o.begins_beat,
        CASE WHEN c.anchor IS NULL AND o.begins_beat THEN 'attention' ELSE o.family END AS family,
        o.end_ns - o.start_ns AS dur_ns,
        count(CASE WHEN _is_anchor(c.anchor, o.family, o.begins_beat, t.opener) THEN 1 END) OVER (
            PARTITION BY c.trace_id, c.device, c.program, c.anchor ORDER BY o.seq
            ROWS UNBOUNDED PRECEDING
        ) AS stretch
    FROM candidates AS c
    JOIN sample AS o
        ON o.trace_id = c.trace_id AND o.device = c.device AND o.program = c.program
    LEFT JOIN openers AS t
        ON t.trace_id = o.trace_id AND t.device = o.device AND t.program = o.program
        AND t.opener = o.family
),
held AS (
    SELECT
        trace_id, device, program, anchor, anchor_count, family, stretch, is_product,
        is_collective, count(*) AS times, sum(dur_ns) AS sum_ns,
        count(*) FILTER (begins_beat) AS beats,
        stretch BETWEEN 1 AND anchor_count - 1 AS is_inner
    FROM parted
    GROUP BY
        trace_id, device, program, anchor, anchor_count, family, stretch, is_product, is_collective
),
-- Collectives wait for other devices: their time shows nothing about the layer.
lengths AS (
    SELECT
        trace_id, device, program, anchor, quantile_disc(products, 0.5) AS products,
        min(products) AS fewest_products, if(min(beats) = max(beats), max(beats), NULL) AS beats,
        quantile_disc(products, 0.1) > 0
        AND quantile_disc(products, 0.1) = quantile_disc(products, 0.9) AS has_equal_products,
        quantile_disc(stretch_ns, 0.9)
        <= (1 + any_value(l.uneven_time)) * quantile_disc(stretch_ns, 0.1) AS is_even
    FROM (
        SELECT
            trace_id, device, program, anchor,
            coalesce(sum(sum_ns) FILTER (NOT is_collective), 0) AS stretch_ns,
            coalesce(sum(times) FILTER (is_product), 0) AS products, sum(beats) AS beats
        FROM held
        WHERE is_inner
        GROUP BY trace_id, device, program, anchor, stretch
    )
    CROSS JOIN limits AS l
    GROUP BY trace_id, device, program, anchor
),
usual AS (
    SELECT
        *, mode(times ORDER BY stretch) FILTER (is_inner) OVER (
            PARTITION BY trace_id, device, program, anchor, family
        ) AS usual_times
    FROM held
),
regular AS (
    SELECT
        trace_id, device, program, anchor, anchor_count, is_product,
        coalesce(sum(sum_ns) FILTER (NOT is_collective), 0) AS sum_ns,
        coalesce(sum(sum_ns) FILTER (is_inner AND NOT is_collective), 0) AS inner_ns,
        -- What is in a loop is in that loop's turns alone.
        count(*) FILTER (is_inner AND times = usual_times) >= any_value(l.same_stretches) * (
            if(anchor = 'turn', least(anchor_count, sum(times)), anchor_count) - 1
        ) AS is_regular,
        any_value(l.equal_time) AS equal_time, any_value(l.run_time) AS run_time
    FROM usual
    CROSS JOIN limits AS l
    GROUP BY trace_id, device, program, anchor, anchor_count, family, is_product
),
possible AS (
    SELECT
        r.trace_id, r.device, r.program, r.anchor, r.anchor_count,
        sum(r.inner_ns) FILTER (r.is_regular) / nullif(sum(r.inner_ns), 0) AS regular_share,
        any_value(c.is_attention) AS is_attention,
        any_value(e.is_even) AS is_even,
        any_value(if(c.is_looped, 0, e.products)) AS products, any_value(e.beats) AS beats
    FROM regular AS r
    JOIN candidates AS c
        ON c.trace_id = r.trace_id AND c.device = r.device AND c.program = r.program
        AND c.anchor IS NOT DISTINCT FROM r.anchor AND c.anchor_count = r.anchor_count
    JOIN lengths AS e
        ON e.trace_id = r.trace_id AND e.device = r.device AND e.program = r.program
        AND e.anchor IS NOT DISTINCT FROM r.anchor
    GROUP BY r.trace_id, r.device, r.program, r.anchor, r.anchor_count
    HAVING
        (
            bool_or(r.is_regular AND r.is_product)
            AND sum(r.inner_ns) FILTER (r.is_regular)
                >= any_value(r.equal_time) * sum(r.inner_ns)
            OR any_value(c.is_attention AND e.is_even AND e.has_equal_products)
        )
        -- The inner stretches are one fewer than the layers.
        AND sum(r.inner_ns) * r.anchor_count / (r.anchor_count - 1)
            >= any_value(r.run_time) * sum(r.sum_ns)
),
-- Backward, several kinds alternate as they do forward.
alternating AS (
    SELECT *
    FROM (
        SELECT
            e.trace_id, e.device, e.program, p.anchor_count * p.beats AS anchor_count,
            min(p.beats) AS kinds,
            bool_or(e.fewest_products >= l.attention_products) AS has_products
        FROM lengths AS e
        JOIN possible AS p
            ON p.trace_id = e.trace_id AND p.device = e.device AND p.program = e.program
        CROSS JOIN limits AS l
        WHERE e.anchor IS NULL AND p.anchor IS NOT NULL AND p.beats > 1
        GROUP BY e.trace_id, e.device, e.program, p.anchor_count * p.beats
    )
    QUALIFY has_products AND bool_and(has_products) OVER (
        PARTITION BY trace_id, device, replace(program, ' backward', ''), anchor_count
    )
),
tried AS (
    SELECT
        p.trace_id, p.device, p.program, p.anchor, p.anchor_count,
        p.anchor_count = s.num_layers AS is_given, p.regular_share >= l.clean_time AS is_clean,
        p.kinds
    FROM (
        SELECT
            trace_id, device, program, anchor, anchor_count, regular_share, is_attention, is_even,
            products, CAST(1 AS BIGINT) AS kinds
        FROM possible
        UNION ALL
        SELECT
            a.trace_id, a.device, a.program, NULL, c.anchor_count, 0, TRUE, FALSE, 0,
            CAST(a.kinds AS BIGINT)
        FROM alternating AS a
        JOIN candidates AS c
            ON c.trace_id = a.trace_id AND c.device = a.device AND c.program = a.program
            AND c.anchor IS NULL AND c.anchor_count = a.anchor_count
        ANTI JOIN possible AS p
            ON p.trace_id = a.trace_id AND p.device = a.device AND p.program = a.program
            AND p.anchor IS NULL
    ) AS p
    JOIN _layer_settings AS s ON s.trace_id = p.trace_id
    CROSS JOIN limits AS l
    WHERE
        p.is_attention OR (s.is_given AND p.anchor_count = s.num_layers)
        OR (p.is_even AND p.products <= l.layer_products)
),
chosen AS (
    SELECT trace_id, device, program, anchor, anchor_count, kinds
    FROM (
        SELECT
            *, NOT is_clean AND anchor_count >= 2 * max(anchor_count) FILTER (is_clean) OVER (
                PARTITION BY trace_id, device, program
            ) AS is_part
        FROM tried
    )
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, device, program
        ORDER BY
            anchor IS DISTINCT FROM 'turn', anchor IS NOT NULL,
            coalesce(is_given, FALSE) DESC, coalesce(is_part, FALSE),
            anchor_count DESC
    ) = 1
),
marks AS (
    SELECT
        o.trace_id, o.device, o.program, o.run_id, o.kernel_id, o.family, o.is_looped, o.seq,
        coalesce(c.anchor = 'turn', FALSE) AS opens_turn,
        row_number() OVER (PARTITION BY o.trace_id, o.device, o.run_id ORDER BY o.seq) - 1
            AS layer_id,
        c.anchor_count AS num_layers, c.kinds,
        count(*) OVER (PARTITION BY o.trace_id, o.device, o.run_id) = c.anchor_count AS is_whole
    FROM _program_operations AS o
    JOIN chosen AS c
        ON c.trace_id = o.trace_id AND c.device = o.device AND c.program = o.program
    LEFT JOIN openers AS t
        ON t.trace_id = o.trace_id AND t.device = o.device AND t.program = o.program
        AND t.opener = o.family
    WHERE _is_anchor(c.anchor, o.family, o.begins_beat, t.opener)
)
SELECT
    m.trace_id, m.device, m.program, m.run_id, m.kernel_id, m.family, m.opens_turn, m.is_looped,
    m.seq, m.layer_id, m.num_layers, m.kinds, s.run_id IS NOT NULL AS is_sample, m.is_whole
FROM marks AS m
LEFT JOIN samples AS s
    ON s.trace_id = m.trace_id AND s.device = m.device AND s.run_id = m.run_id;
