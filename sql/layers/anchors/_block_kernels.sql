-- One row per anchor inside its layer: the first kernel of that layer. A kernel is identified by
-- its family and by how many of the family follow it up to the next anchor. From a pass's first
-- anchor, the search walks back over kernels that many blocks between two anchors also have, in the
-- same order and with the same neighbour. It ends at the first kernel of layer 0 (the embedding
-- comes before it), unless it reaches the previous anchor. No layer opens with a collective, which
-- sums the embedding. The counterpart of the first kernel opens each later layer, by kind of layer
-- if first layers show that kind. A layer of a kind that no pass begins with (attention among
-- linear attention, or without rotation) opens with the kernel of that family that follows the end
-- of a layer, as the openers of the others do. So does the first layer of a pass that computes
-- activations again and runs backward: before it is the backward of the head. If the walk meets no
-- product, because compilers mix masks and positions into layer 0, the layer opens with the last
-- norm that has a product between it and the anchor. Where models take turns, a layer begins within
-- its turn, and with kernels launched by backward functions only if its anchor is one of these. If
-- passes have one layer, no blocks can be compared: it opens as most layers of _sample_series do
-- around the same anchor; else with that last norm; else, if no norm is in its turn, with the last
-- product before the anchor.
CREATE VIEW _inside_starts AS
WITH counted AS (
    SELECT
        k.trace_id, k.series, k.device, k.kernel_id, k.kind, k.family,
        k.anchors_before AS anchor_index, (k.anchors_before + k.missed) % k.stride = 0 AS is_first,
        row_number() OVER block - 1 AS steps_back,
        row_number() OVER (
            PARTITION BY k.trace_id, k.series, k.device, k.anchors_before, k.family
            ORDER BY k.seq DESC
        ) AS occurrence,
        lead(k.family) OVER in_time AS next_family,
        (lag(k.family, 2) OVER in_time, lag(k.family) OVER in_time) AS behind,
        first_value(k.family) OVER block AS anchor_family,
        k.turn_ns IS NOT DISTINCT FROM first_value(k.turn_ns) OVER block
            AND k.by_backward = first_value(k.by_backward) OVER block AS in_turn,
        starts_with(k.category, 'gemm') AS is_product,
        k.category IN ('attention backward', 'norm backward') OR k.by_backward AS runs_backward,
        k.natural_role = 'begin'
            AND bool_or(starts_with(k.category, 'gemm')) OVER (block ROWS UNBOUNDED PRECEDING)
            AS is_before_product
    FROM _lane_kernels AS k
    WHERE k.role = 'inside' AND k.anchors_before < k.anchor_count
    WINDOW
        block AS (
            PARTITION BY k.trace_id, k.series, k.device, k.anchors_before ORDER BY k.seq DESC
        ),
        in_time AS (PARTITION BY k.trace_id, k.series, k.device, k.anchors_before ORDER BY k.seq)
),
-- Kinds of layers may alternate, each with its own kernels before the anchor. Then a block is
-- compared with blocks that have the same sixteen kernels before the anchor, or the same four or
-- two, if there are such blocks for each first layer.
turns AS (
    SELECT
        trace_id, series, device, anchor_index, is_first,
        CASE
            WHEN min(CASE WHEN is_first THEN like_far END) OVER lane > 1 THEN far
            WHEN min(CASE WHEN is_first THEN like_middle END) OVER lane > 1 THEN middle
            WHEN min(CASE WHEN is_first THEN like_near END) OVER lane > 1 THEN near
        END AS turn
    FROM (
        SELECT
            *,
            count(CASE WHEN NOT is_first THEN 1 END) OVER (
                PARTITION BY trace_id, series, device, far
            ) AS like_far,
            count(CASE WHEN NOT is_first THEN 1 END) OVER (
                PARTITION BY trace_id, series, device, middle
            ) AS like_middle,
            count(CASE WHEN NOT is_first THEN 1 END) OVER (
                PARTITION BY trace_id, series, device, near
            ) AS like_near
        FROM (
            -- The first layers of backward passes are like others, unless all passes run backward.
            SELECT * REPLACE (
                is_first AND is_backward = bool_and(is_backward) FILTER (is_first) OVER (
                    PARTITION BY trace_id, series, device
                ) AS is_first
            )
            FROM (
                SELECT
                    trace_id, series, device, anchor_index, bool_or(is_first) AS is_first,
                    lead(bool_or(runs_backward), 1, FALSE) OVER (
                        PARTITION BY trace_id, series, device ORDER BY anchor_index
                    ) AS is_backward,
                    hash(list(family ORDER BY steps_back) FILTER (steps_back < 16)) AS far,
                    hash(list(family ORDER BY steps_back) FILTER (steps_back < 4)) AS middle,
                    hash(list(family ORDER BY steps_back) FILTER (steps_back < 2)) AS near
                FROM counted
                GROUP BY trace_id, series, device, anchor_index
            )
        )
    )
    WINDOW lane AS (PARTITION BY trace_id, series, device)
),
common AS (
    SELECT
        c.* REPLACE (t.is_first AS is_first), t.turn,
        count(CASE WHEN NOT t.is_first THEN 1 END) OVER same AS seen,
        count(CASE WHEN NOT t.is_first THEN 1 END) OVER (
            PARTITION BY c.trace_id, c.series, c.device, t.turn, c.family, c.next_family
        ) AS pairs_seen,
        median(c.steps_back) FILTER (NOT t.is_first) OVER same AS usual_steps,
        count(CASE WHEN NOT t.is_first AND c.steps_back = 0 THEN 1 END) OVER alike AS inner_blocks
    FROM counted AS c
    JOIN turns AS t
        ON t.trace_id = c.trace_id AND t.series = c.series AND t.device = c.device
        AND t.anchor_index = c.anchor_index
    WINDOW
        same AS (
            PARTITION BY c.trace_id, c.series, c.device, t.turn, c.family, c.occurrence
        ),
        alike AS (PARTITION BY c.trace_id, c.series, c.device, t.turn)
),
walks AS (
    SELECT
        *, steps_back = 0 OR coalesce(
            in_turn AND 4 * seen >= inner_blocks
            -- One kernel may be missing: the walk continues if the pair before it is known.
            AND greatest(pairs_seen, lead(pairs_seen, 1, 0) OVER back) * 8 >= inner_blocks
            AND usual_steps > lag(usual_steps, 1, 0) OVER back
            -- A few kernels may be skipped; more would reach into the previous layer.
            AND usual_steps <= lag(usual_steps, 1, 0) OVER back + 4, FALSE
        ) AS is_known
    FROM common
    WINDOW back AS (PARTITION BY trace_id, series, device, anchor_index ORDER BY steps_back)
),
walked AS (
    SELECT *, bool_and(is_known) OVER back AS is_reached
    FROM walks
    WINDOW back AS (PARTITION BY trace_id, series, device, anchor_index ORDER BY steps_back)
),
heads AS (
    SELECT
        trace_id, series, device, kernel_id, family, occurrence, anchor_index, anchor_family,
        in_turn, turn, steps_back, behind,
        is_first AND (anchor_index = 0 OR NOT bool_and(is_reached) OVER block) AS is_first,
        coalesce(
            CASE
                WHEN NOT bool_or(is_product AND is_reached) OVER block
                    THEN min(steps_back) FILTER (
                        is_first AND is_before_product AND in_turn
                        AND (seen > 0 OR inner_blocks = 0)
                    ) OVER block
            END,
            CASE
                WHEN inner_blocks = 0
                    THEN min(steps_back) FILTER (is_first AND is_product AND in_turn) OVER block
            END,
            max(steps_back) FILTER (is_first AND is_reached AND kind <> 'communication') OVER block
        ) AS head_steps,
        coalesce(usual_steps, steps_back) AS usual_steps
    FROM walked
    WINDOW block AS (PARTITION BY trace_id, series, device, anchor_index)
),
openers AS (
    SELECT
        *,
        mode((family, occurrence, usual_steps) ORDER BY anchor_index)
            FILTER (is_first AND steps_back = head_steps) OVER alike AS own_opener,
        mode((family, occurrence, usual_steps) ORDER BY anchor_index)
            FILTER (is_first AND steps_back = head_steps) OVER lane AS any_opener
    FROM heads
    WINDOW
        lane AS (PARTITION BY trace_id, series, device),
        alike AS (PARTITION BY trace_id, series, device, turn)
),
-- The kernels before the openers of layers, if the first layers show openers of that kind.
ends AS (
    SELECT DISTINCT trace_id, series, device, family, behind
    FROM openers
    WHERE
        NOT is_first AND family = own_opener[1] AND occurrence = own_opener[2]
        AND behind[1] IS NOT NULL
),
begun AS (
    SELECT
        o.trace_id, o.series, o.device, anchor_index,
        coalesce(
            arg_max(kernel_id, steps_back) FILTER (is_first AND steps_back = head_steps),
            arg_max(kernel_id, steps_back) FILTER (
                NOT is_first AND o.family = own_opener[1] AND occurrence = own_opener[2]
            ),
            arg_min(kernel_id, steps_back)
                FILTER (own_opener IS NULL AND ends.trace_id IS NOT NULL),
            arg_max(kernel_id, steps_back) FILTER (
                NOT is_first AND o.family = any_opener[1] AND occurrence = any_opener[2]
            ),
            arg_max(kernel_id, steps_back)
                FILTER (steps_back <= coalesce(own_opener[3], any_opener[3], 0))
        ) AS kernel_id
    FROM openers AS o
    LEFT JOIN ends
        ON ends.trace_id = o.trace_id AND ends.series = o.series AND ends.device = o.device
        AND ends.family = o.family AND ends.behind = o.behind
    GROUP BY o.trace_id, o.series, o.device, anchor_index
),
samples AS (
    SELECT
        s.trace_id, s.series, s.device, o.anchor_family,
        mode((o.family, o.occurrence, o.steps_back) ORDER BY o.anchor_index) AS opener
    FROM _sample_series AS s
    JOIN openers AS o
        ON o.trace_id = s.trace_id AND o.series = s.sample_series AND o.device = s.device
    SEMI JOIN begun AS b ON b.trace_id = o.trace_id AND b.kernel_id = o.kernel_id
    WHERE s.series <> s.sample_series
    GROUP BY s.trace_id, s.series, s.device, o.anchor_family
),
sampled AS (
    SELECT
        o.trace_id, o.series, o.device, o.anchor_index, o.kernel_id
    FROM openers AS o
    JOIN samples AS s
        ON s.trace_id = o.trace_id AND s.series = o.series AND s.device = o.device
        AND s.anchor_family = o.anchor_family
        AND s.opener[1] = o.family AND s.opener[2] = o.occurrence
        -- A few more kernels may be in between; many more are of other work.
        AND s.opener[3] + 4 >= o.steps_back
    WHERE o.in_turn
)
SELECT b.trace_id, coalesce(s.kernel_id, b.kernel_id) AS kernel_id
FROM begun AS b
LEFT JOIN sampled AS s
    ON s.trace_id = b.trace_id AND s.series = b.series AND s.device = b.device
    AND s.anchor_index = b.anchor_index;

-- One row per kernel of the anchors' stream, with the block it falls into. A block extends up to
-- its anchor (role end) or begins with its first kernel (begin, inside). If the pattern misses the
-- first anchor of each pass, what precedes the second is a block too. If the last pass is not
-- complete, what follows the last anchor is the half within which the capture ends.
-- trace_id      VARCHAR  trace
-- series        VARCHAR  the model, empty if the trace has only one
-- device        INTEGER  device
-- stream        BIGINT   stream of the anchors
-- kernel_id     BIGINT   the kernel
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- dur_ns        BIGINT   its duration
-- name_id       BIGINT   number of its name, see _lane_kernels
-- natural_role  VARCHAR  begin for norms, inside for attention, end for collectives
-- kind          VARCHAR  compute or communication
-- call_ns       BIGINT   start of the call of a model around its launch
-- seq           BIGINT   position on the stream, from 0
-- anchor_count  BIGINT   anchors on the stream
-- num_layers    INTEGER  layers of a pass
-- stride        BIGINT   anchors per pass
-- cut_from_end  BOOLEAN  an open block of this device is cut at its beginning; false: at its end
-- block         BIGINT   block on the device, from 0; -1 before the first
-- remainder     BIGINT   anchors left over by whole passes
-- pass_source   VARCHAR  how the pass boundaries were found
-- pass_id       BIGINT   pass of the block, NULL outside all blocks
-- layer_id      BIGINT   layer of the block, NULL if the block is not part of a layer
-- half          VARCHAR  label of the block within its layer
-- position      BIGINT   place of the kernel in its block, from 1
-- length        BIGINT   kernels in the block
-- runs_backward  BOOLEAN  it is attention or a norm that runs backward, or a backward function of
--                         PyTorch launched it
-- in_turn       BOOLEAN  it is of the same turn of its model as the block's end at the anchor
-- is_late_norm  BOOLEAN  it is a norm after the block's feed-forward
-- is_open       BOOLEAN  no anchor closes the block off from its pass's surroundings
-- is_begun      BOOLEAN  the capture begins within the block
-- is_unended    BOOLEAN  the capture ends within the block: its anchor would follow
CREATE VIEW _block_kernels AS
WITH numbered AS (
    SELECT
        k.trace_id, k.series, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        k.name_id, k.natural_role, k.kind, k.call_ns, k.turn_ns, k.seq,
        k.category IN ('activation', 'moe', 'moe_gemm') AS feeds_forward,
        k.category IN ('attention backward', 'norm backward') OR k.by_backward AS runs_backward,
        k.anchor_count, k.num_layers, k.stride, k.extra, k.missed, k.remainder, k.pass_source,
        k.blocks_per_layer, k.half_labels, k.role = 'end' OR k.is_late AS cut_from_end,
        CASE k.role
            WHEN 'end' THEN k.anchors_before
            WHEN 'begin'
                THEN k.anchors_before + CAST(k.is_anchor AS BIGINT) - CAST(NOT k.is_late AS BIGINT)
            ELSE count(s.kernel_id) OVER (lane ROWS UNBOUNDED PRECEDING) - 1
        END AS block
    FROM _lane_kernels AS k
    LEFT JOIN _inside_starts AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    WINDOW lane AS (PARTITION BY k.trace_id, k.series, k.device ORDER BY k.seq)
),
placed AS (
    SELECT
        *,
        -- Kernels before the first anchor belong to its pass if that began before the capture.
        block BETWEEN CASE WHEN missed > 0 THEN -1 ELSE 0 END
            AND anchor_count - CASE WHEN cut_from_end AND remainder > 0 THEN 0 ELSE 1 END
            AS is_inside,
        (block + missed) // stride AS pass_id,
        block = min(block) OVER (PARTITION BY trace_id, series, device) AND missed > 0 AS is_begun,
        (block + missed) % stride - CASE WHEN cut_from_end THEN extra ELSE 0 END AS slot
    FROM numbered
),
slotted AS (
    SELECT
        *, is_inside AND slot BETWEEN 0 AND stride - extra - 1 AS is_layer,
        CASE
            WHEN cut_from_end THEN slot = 0 AND extra = 0
            ELSE slot = stride - 1 OR block = anchor_count - 1
        END AS is_open
    FROM placed
)
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, dur_ns, name_id, natural_role,
    kind, call_ns, seq, anchor_count, num_layers, stride, cut_from_end, block, remainder,
    pass_source,
    CASE WHEN is_inside THEN pass_id END AS pass_id,
    CASE WHEN is_layer THEN slot // blocks_per_layer END AS layer_id,
    CASE WHEN is_layer THEN half_labels[slot % blocks_per_layer + 1] END AS half,
    row_number() OVER (lane_block ORDER BY seq) AS position,
    count(*) OVER lane_block AS length, runs_backward,
    turn_ns IS NOT DISTINCT FROM arg_max(
        turn_ns, CASE WHEN cut_from_end THEN seq ELSE -seq END
    ) OVER lane_block AS in_turn,
    natural_role = 'begin' AND coalesce(
        seq > max(CASE WHEN feeds_forward THEN seq END) OVER lane_block, FALSE
    ) AS is_late_norm,
    is_layer AND is_open AS is_open, is_layer AND is_begun AS is_begun,
    is_layer AND block = anchor_count AS is_unended
FROM slotted
WINDOW lane_block AS (PARTITION BY trace_id, series, device, block);
