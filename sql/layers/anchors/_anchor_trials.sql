-- One row per trace, rank, device and anchor pattern that occurs there: how its anchors and the
-- attention kernels alternate. A layer has one attention, so anchors per block with attention are
-- anchors per layer, whatever the number of layers. What opens the feed-forward half follows soon
-- after the attention, behind the output projection; norms of queries, keys or latents precede the
-- next attention.
CREATE VIEW _anchor_rhythms AS
WITH names AS (
    SELECT DISTINCT k.trace_id, k.name, r.role IS NOT DISTINCT FROM 'inside' AS is_attention
    FROM _seated_kernels AS k
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.kind <> 'memory'
),
telling AS (
    SELECT
        c.trace_id, c.series, c.device, c.stream, c.preference, n.name,
        list_contains(c.anchor_names, n.name) AS is_anchor
    FROM _anchor_candidates AS c
    JOIN names AS n ON n.trace_id = c.trace_id
    WHERE n.is_attention OR list_contains(c.anchor_names, n.name)
),
beats AS (
    SELECT
        t.trace_id, t.series, t.device, t.preference, k.start_ns, k.end_ns, k.kernel_id,
        t.is_anchor
    FROM telling AS t
    JOIN _seated_kernels AS k
        ON k.trace_id = t.trace_id
        AND k.series = t.series
        AND k.device = t.device
        AND k.stream IS NOT DISTINCT FROM t.stream
        AND k.name = t.name
    WHERE k.kind <> 'memory'
),
turns AS (
    SELECT
        trace_id, series, device, preference, is_anchor, start_ns,
        lag(is_anchor, 1, TRUE) OVER in_time AS follows_anchor,
        count(CASE WHEN is_anchor THEN 1 END) OVER (in_time ROWS UNBOUNDED PRECEDING)
            AS anchors_so_far,
        start_ns - lag(CASE WHEN NOT is_anchor THEN end_ns END) OVER in_time AS since_attention_ns,
        first_value(CASE WHEN NOT is_anchor THEN start_ns END IGNORE NULLS) OVER (
            in_time ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
        ) - start_ns AS to_attention_ns,
        start_ns - lag(start_ns) OVER (
            PARTITION BY trace_id, series, device, preference, is_anchor
            ORDER BY start_ns, kernel_id
        ) AS distance_ns
    FROM beats
    WINDOW in_time AS (
        PARTITION BY trace_id, series, device, preference ORDER BY start_ns, kernel_id
    )
)
SELECT
    t.trace_id, t.series, t.device, t.preference,
    nullif(count(*) FILTER (NOT t.is_anchor AND t.follows_anchor), 0) AS attention_blocks,
    min(t.anchors_so_far) FILTER (NOT t.is_anchor) AS lead,
    count(*) FILTER (t.is_anchor AND t.start_ns < p.break_ns) AS break_lead,
    count(*) FILTER (
        t.is_anchor AND t.start_ns >= p.last_ns AND t.start_ns < p.break_ns
    ) AS break_anchors,
    max(t.start_ns) FILTER (t.is_anchor AND t.start_ns < p.break_ns) AS break_anchor_ns,
    -- The anchors of the first layer after the break and of the next attention.
    min(t.start_ns, 4) FILTER (t.is_anchor AND t.start_ns > p.break_ns) AS next_anchors,
    min(t.start_ns) FILTER (NOT t.is_anchor AND t.follows_anchor AND t.start_ns > p.break_ns)
        AS next_ns,
    avg(CAST(t.since_attention_ns < t.to_attention_ns AS INTEGER)) FILTER (t.is_anchor) >= 0.5
        AS is_soon,
    stddev_pop(t.distance_ns) FILTER (t.is_anchor)
        / nullif(avg(t.distance_ns) FILTER (t.is_anchor), 0) AS irregularity
FROM turns AS t
LEFT JOIN _pass_rhythms AS p
    ON p.trace_id = t.trace_id
    AND p.series = t.series
    AND p.device = t.device
GROUP BY t.trace_id, t.series, t.device, t.preference;

-- One row per trace, rank, device and anchor pattern that occurs there: how well it explains passes
-- of a number of layers, and which pattern is chosen. A pass has blocks_per_layer * N anchors, or
-- one more: the final norm if the anchor begins its block, the all-reduce of the embedding if it
-- ends it. The first pattern with a whole pass wins, with the pass length that divides the count or
-- gives the passes that breaks show; if none does, the remainder is reported. A detected pattern
-- wins only by such a fit. Attention takes precedence over counts: blocks_per_layer is the number
-- of anchors per attention. Attention is in the first half of a layer: an anchor that ends a half
-- before it is the embedding's; if no anchor begins a half before it, the pattern misses the first
-- norm of the pass. The number of layers is the user's, else that of the modules, else that of the
-- rhythm. A config's number yields to that of a rhythm with sure breaks that divides it: a pipeline
-- rank has some of the layers, and only some layers may have attention. If a pass has fewer
-- attentions than layers, its anchors may also be shared by its layers (a norm for each Mamba,
-- attention or feed-forward layer of Nemotron-H), where those per attention do not fit and a pass
-- of that length has the rhythm's number of attentions. If no number is given, a pass has so many
-- layers where only some of its linear attentions have a feed-forward, and there is an anchor for
-- each attention and feed-forward. Anchors before the first break belong to a
-- pass that began before the capture.
--
-- stored: per trace
--
-- trace_id          VARCHAR    trace
-- series            VARCHAR    the model, empty if the trace has only one
-- device            INTEGER    device
-- stream            BIGINT     stream the anchors run on
-- pattern           VARCHAR    the pattern
-- pattern_source    VARCHAR    user, profile or detected
-- anchor_names      VARCHAR[]  distinct kernel names that are anchors
-- anchor_count      BIGINT     anchors on the stream
-- role              VARCHAR    begin, inside or end of its block
-- blocks_per_layer  INTEGER    anchors per layer
-- half_labels       VARCHAR[]  label of each block of a layer
-- num_layers        INTEGER    layers of a pass, NULL if unknown: no passes then
-- extra             INTEGER    anchors of a pass outside its layers, 0 or 1
-- is_late           BOOLEAN    the pattern misses the first anchor of each pass
-- stride            BIGINT     anchors per pass, NULL if the layers are unknown
-- missed            BIGINT     anchors of the first pass before the capture
-- remainder         BIGINT     anchors left over by whole passes and the first, partial one
-- irregularity      DOUBLE     coefficient of variation of the time from one anchor to the next
-- is_vague          BOOLEAN    passes may be longer than the capture shows
-- pass_source       VARCHAR    how the pass boundaries were found
-- is_chosen         BOOLEAN    the pattern of the device
CREATE VIEW _anchor_trials AS
WITH modules AS (
    SELECT
        trace_id, coalesce(series, '') AS series, CAST(max(num_layers) AS INTEGER) AS num_layers
    FROM _host_layers
    WHERE pass_source = 'module scopes'
    GROUP BY GROUPING SETS ((trace_id, series), (trace_id))
),
counted AS (
    SELECT
        c.* REPLACE (
            CASE
                WHEN
                    NOT s.is_given AND coalesce(r.is_sure, FALSE)
                    AND c.num_layers > r.num_layers AND c.num_layers % r.num_layers = 0
                    THEN r.num_layers
                ELSE c.num_layers
            END AS num_layers
        ),
        a.irregularity, a.lead AS anchor_lead, a.break_lead, a.break_anchors, a.attention_blocks,
        a.break_anchor_ns, a.next_anchors, a.next_ns, a.is_soon, len(r.breaks) AS break_count,
        -- A norm of each, and the final one.
        CASE
            WHEN
                c.role = 'begin' AND c.num_layers IS NULL
                AND c.anchor_count = (len(r.breaks) + 1) * (r.lone_layers + 1)
                THEN r.lone_layers
        END AS lone_layers,
        s.blocks_per_layer IS NOT NULL AS is_users,
        -- A quotient halfway between two integers: if anchors begin a half, the odd one is the
        -- final norm; if they end one, the capture ends before the last.
        CASE c.role
            WHEN 'begin' THEN ceil(c.anchor_count / a.attention_blocks - 0.5)
            ELSE round(c.anchor_count / a.attention_blocks)
        END AS usual_blocks
    FROM _anchor_candidates AS c
    JOIN _layer_settings AS s ON s.trace_id = c.trace_id
    LEFT JOIN _pass_rhythms AS r
        ON r.trace_id = c.trace_id AND r.series = c.series AND r.device = c.device
    LEFT JOIN _anchor_rhythms AS a
        ON a.trace_id = c.trace_id
        AND a.series = c.series
        AND a.device = c.device
        AND a.preference = c.preference
),
-- Whether the first norm of a pass is of another kernel, or the last one: another norm stands
-- between the last anchor before a break and the attention after it, but not so in the next layer;
-- or one that occurs once per pass precedes that anchor.
edges AS (
    SELECT
        c.trace_id, c.series, c.device, c.preference,
        bool_or(o.break_anchor_ns > c.break_anchor_ns AND coalesce(len([
            t FOR t IN o.next_anchors IF t > c.next_anchors[2] AND t < c.next_ns
        ]), 0) = 0) AS lacks_first,
        bool_or(o.break_anchor_ns < c.break_anchor_ns AND o.anchor_count <= c.break_count + 1)
            AS lacks_last
    FROM counted AS c
    JOIN counted AS o ON o.trace_id = c.trace_id AND o.series = c.series AND o.device = c.device
    WHERE c.role = 'begin' AND o.role = 'begin'
    GROUP BY c.trace_id, c.series, c.device, c.preference
),
sized AS (
    SELECT
        c.* EXCLUDE (blocks_per_layer, is_fixed, anchor_lead),
        CASE
            WHEN c.series = ''
                THEN coalesce(
                    c.num_layers, m.num_layers, c.lone_layers, p.num_layers, c.default_layers
                )
            -- With several models, the user's number applies to the one it fits.
            ELSE coalesce(m.num_layers, p.num_layers, c.num_layers, c.default_layers)
        END AS pass_layers,
        coalesce(c.num_layers, m.num_layers, p.num_layers) IS NOT NULL AS is_counted,
        -- The number that another model has does not tell how long a pass is.
        m.num_layers IS NULL AND coalesce(p.is_vague, FALSE) AND (
            c.num_layers IS NULL
            OR coalesce(c.series <> '' AND c.num_layers <> p.num_layers, FALSE)
        ) AS is_vague,
        CASE
            WHEN c.is_fixed OR c.role = 'inside' OR c.usual_blocks IS NULL THEN c.blocks_per_layer
            ELSE greatest(CAST(c.usual_blocks AS INTEGER), 1)
        END AS blocks_per_layer,
        c.is_fixed OR (c.role <> 'inside' AND c.usual_blocks IS NOT NULL) AS is_fixed,
        CASE
            WHEN
                c.role <> 'inside' AND c.series = ''
                AND coalesce(c.num_layers, c.lone_layers) > p.num_layers
                AND NOT c.is_users
                -- So many passes of n anchors a layer, or one more, have that many attentions, give
                -- or take one at the ends of the capture. On a pipeline rank they have more.
                THEN [
                    n FOR n IN [1, 2, 3, 4]
                    IF c.attention_blocks BETWEEN
                        c.anchor_count * p.num_layers
                        / (n * coalesce(c.num_layers, c.lone_layers) + 1) - 1
                        AND c.anchor_count * p.num_layers
                        / (n * coalesce(c.num_layers, c.lone_layers)) + 1
                ][1]
        END AS shared_blocks,
        CASE WHEN c.role <> 'inside' THEN c.anchor_lead END AS lead,
        coalesce(e.lacks_first, FALSE) AS lacks_first, coalesce(e.lacks_last, FALSE) AS lacks_last,
        p.breaks, p.beats, p.attentions, p.pass_source
    FROM counted AS c
    LEFT JOIN edges AS e
        ON e.trace_id = c.trace_id
        AND e.series = c.series
        AND e.device = c.device
        AND e.preference = c.preference
    LEFT JOIN _pass_rhythms AS p
        ON p.trace_id = c.trace_id
        AND p.series = c.series
        AND p.device = c.device
        AND p.stream IS NOT DISTINCT FROM c.stream
    LEFT JOIN modules AS m ON m.trace_id = c.trace_id AND m.series = c.series
),
broken AS (
    SELECT
        *,
        -- Anchors before the first attention of the first pass that begins in the capture.
        CASE
            WHEN NOT has_breaks THEN NULL
            WHEN breaks[1] < pass_layers THEN break_lead
            -- The capture may begin after the last attention of a pass. Norms of queries and keys
            -- all precede an attention, after a break as well.
            WHEN
                role = 'begin'
                AND lead < break_anchors + CASE WHEN preference < 1000 THEN 1 ELSE 0 END
                THEN lead
        END AS lead_anchors,
        has_breaks AND breaks[1] < pass_layers AS begins_within
    FROM (
        SELECT
            *,
            -- Breaks that do not agree with the number of layers are ignored.
            coalesce(
                len(breaks) > 0 AND breaks[1] <= pass_layers
                AND len([n FOR n IN breaks IF (n - breaks[1]) % pass_layers <> 0]) = 0, FALSE
            ) AS has_breaks
        FROM sized
    )
),
splits AS (
    SELECT
        s.*, e.extra, b.blocks,
        CAST(b.blocks * s.pass_layers + e.extra AS BIGINT) AS pass_anchors,
        coalesce(
            s.role = 'begin' AND b.blocks = 2 AND e.extra = 0 AND CASE
                WHEN s.has_breaks AND (s.lacks_first OR s.lacks_last) THEN s.lacks_first
                ELSE s.lead = 0 AND NOT s.begins_within
            END, FALSE
        ) AS is_late
    FROM broken AS s
    CROSS JOIN (VALUES (0), (1)) AS e (extra)
    CROSS JOIN (VALUES (0), (1), (2), (3), (4)) AS o (blocks)
    CROSS JOIN LATERAL (SELECT coalesce(nullif(o.blocks, 0), s.blocks_per_layer) AS blocks) AS b
    WHERE
        (s.role <> 'inside' OR e.extra = 0)
        AND (o.blocks = 0 OR NOT s.is_fixed OR coalesce(o.blocks = s.shared_blocks, FALSE))
),
begun AS (
    SELECT
        *,
        -- Anchors of a pass that began before the capture; -1 if only the first norm of a pass did.
        coalesce(CASE
            WHEN role = 'begin' AND NOT begins_within AND lead_anchors = 0
                THEN CASE WHEN NOT is_late AND (extra = 1 OR lacks_last) THEN -1 ELSE 0 END
            ELSE greatest(
                lead_anchors - CASE role
                    WHEN 'begin' THEN CASE WHEN is_late THEN 0 ELSE 1 END
                    WHEN 'end' THEN extra
                    ELSE 0
                END, 0
            )
        END, 0) AS first_anchors
    FROM splits
),
ranked AS (
    SELECT
        *,
        -- If breaks count the passes, the attention after the last one shows how many anchors the
        -- last pass has, give or take one at the end of the capture.
        coalesce(CASE
            WHEN has_breaks THEN abs(
                anchor_count - first_anchors - pass_anchors * (breaks[-1] // pass_layers)
                    - blocks * (beats - breaks[-1])
            ) <= 1
            ELSE (anchor_count - first_anchors) % pass_anchors = 0
        END, FALSE) AS fits,
        coalesce(anchor_count - first_anchors >= pass_anchors - extra, FALSE) AS has_pass,
        coalesce(CASE role
            WHEN 'end' THEN extra = lead OR first_anchors > 0
            WHEN 'begin' THEN (extra = 0 OR lead > 0 OR first_anchors <> 0)
                -- Norms that all precede the attention are those of queries and keys.
                AND (preference < 1000 OR (blocks = 2 AND (lead < 2 OR first_anchors > 0)))
                AND (blocks <> 2 OR coalesce(is_soon, TRUE))
            ELSE anchor_count <= attentions * beats AND blocks = attentions
        END, TRUE)
            AND (NOT has_breaks OR coalesce(extra = break_anchors - blocks, TRUE))
            -- Passes without any anchor belong to another model, or ran on another engine.
            AND coalesce(
                role = 'inside' OR NOT has_breaks OR beats - attention_blocks < pass_layers, TRUE
            )
            -- A known pattern may occur a different number of times per layer in another engine.
            AND (
                role = 'inside' OR coalesce(blocks = usual_blocks, TRUE)
                OR coalesce(blocks = shared_blocks, FALSE)
            ) AS is_consistent,
        blocks <> blocks_per_layer AS is_correction,
        -- Only names of attention that occur in all layers are used; in a mixed batch a layer has
        -- several.
        coalesce(role = 'inside' AND anchor_count < attentions * beats AND bool_or(
            role = 'inside' AND anchor_count >= attentions * beats
        ) OVER (PARTITION BY trace_id, series, device), FALSE) AS is_in_some
    FROM begun
    WHERE coalesce(pass_anchors, 1) > 0
),
best AS (
    SELECT
        *, fits OR is_counted AS is_known,
        NOT is_spare AND (
            -- A model's kernels in decode are not those of its prefill.
            (pattern_source <> 'detected' AND NOT (is_inferred AND is_in_some))
            OR (fits AND is_consistent AND NOT is_in_some)
        ) AS is_possible
    FROM ranked
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, series, device, preference
        ORDER BY
            is_possible DESC, is_known DESC, has_pass DESC, is_consistent DESC, fits DESC,
            is_correction, blocks, extra
    ) = 1
)
SELECT
    trace_id, series, device, stream, pattern, pattern_source, anchor_names,
    anchor_count, role, blocks AS blocks_per_layer,
    CASE
        WHEN len(half_labels) = blocks THEN half_labels
        WHEN blocks = 1 THEN ['full']
        WHEN blocks = 2 AND role = 'inside' THEN ['self', 'cross']
        WHEN blocks = 2 THEN ['attn', 'ffn']
        ELSE ['block' || n FOR n IN range(blocks)]
    END AS half_labels,
    CASE WHEN is_known THEN pass_layers END AS num_layers, extra,
    is_late,
    CASE WHEN is_known THEN pass_anchors END AS stride,
    CASE WHEN is_known THEN (pass_anchors - first_anchors % pass_anchors) % pass_anchors END
        AS missed,
    CASE WHEN is_known THEN (anchor_count - first_anchors) % pass_anchors END AS remainder,
    irregularity, is_vague,
    CASE WHEN has_breaks THEN pass_source ELSE 'anchor count' END AS pass_source,
    is_possible AND 1 = row_number() OVER (
        PARTITION BY trace_id, series, device
        ORDER BY
            is_possible DESC, is_known DESC, has_pass DESC, preference, is_consistent DESC,
            fits DESC
    ) AS is_chosen
FROM best;
