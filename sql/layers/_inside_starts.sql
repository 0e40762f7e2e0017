-- One row per anchor that stands inside its layer: the first kernel of that layer.
-- A kernel is known by its family and by how many of the family follow it up to the next anchor.
-- From a pass's first anchor walk back while the kernels are ones that many blocks between two
-- anchors have too, in the same order and before the same neighbour: the walk ends at the first
-- kernel of layer 0 (before it comes the embedding), unless it meets the anchor before. No layer
-- opens with a collective: that one sums the embedding. The first kernel's counterpart opens every
-- later layer. All norms are one family: the first norm of a pass has no residual input and is
-- often another kernel.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   first kernel of a layer
CREATE VIEW _inside_starts AS
WITH families AS (
    SELECT
        name, natural_role,
        CASE
            WHEN natural_role = 'begin' THEN 'norm'
            ELSE regexp_replace(name, 'Lb[01]E|true|false', '', 'g')
        END AS family
    FROM (SELECT DISTINCT name, natural_role FROM _lane_kernels WHERE role = 'inside')
),
counted AS (
    SELECT
        k.trace_id, k.series, k.device, k.kernel_id, k.kind, f.family,
        k.anchors_before AS anchor_index, (k.anchors_before + k.missed) % k.stride = 0 AS is_first,
        row_number() OVER (block ORDER BY k.seq DESC) - 1 AS steps_back,
        row_number() OVER (
            PARTITION BY k.trace_id, k.series, k.device, k.anchors_before, f.family
            ORDER BY k.seq DESC
        ) AS occurrence,
        lead(f.family) OVER (
            PARTITION BY k.trace_id, k.series, k.device, k.anchors_before ORDER BY k.seq
        ) AS next_family
    FROM _lane_kernels AS k
    JOIN families AS f ON f.name = k.name AND f.natural_role IS NOT DISTINCT FROM k.natural_role
    WHERE k.role = 'inside' AND k.anchors_before < k.anchor_count
    WINDOW block AS (PARTITION BY k.trace_id, k.series, k.device, k.anchors_before)
),
common AS (
    SELECT
        *, count(CASE WHEN NOT is_first THEN 1 END) OVER same AS seen,
        count(CASE WHEN NOT is_first THEN 1 END) OVER (
            PARTITION BY trace_id, series, device, family, next_family
        ) AS pairs_seen,
        median(steps_back) FILTER (NOT is_first) OVER same AS usual_steps,
        count(CASE WHEN NOT is_first AND steps_back = 0 THEN 1 END) OVER lane AS inner_blocks
    FROM counted
    WINDOW
        same AS (PARTITION BY trace_id, series, device, family, occurrence),
        lane AS (PARTITION BY trace_id, series, device)
),
walks AS (
    SELECT
        *, steps_back = 0 OR coalesce(
            4 * seen >= inner_blocks
            -- One kernel may be missing: the walk goes on where the pair before it is known.
            AND greatest(pairs_seen, lead(pairs_seen, 1, 0) OVER back) * 8 >= inner_blocks
            AND usual_steps > lag(usual_steps, 1, 0) OVER back
            -- No more than a few are skipped: further back it is the layer before.
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
        trace_id, series, device, kernel_id, family, occurrence, anchor_index, steps_back,
        is_first AND (anchor_index = 0 OR NOT bool_and(is_reached) OVER block) AS is_first,
        max(steps_back) FILTER (is_first AND is_reached AND kind <> 'communication') OVER block
            AS head_steps,
        coalesce(usual_steps, steps_back) AS usual_steps
    FROM walked
    WINDOW block AS (PARTITION BY trace_id, series, device, anchor_index)
),
openers AS (
    SELECT
        *, mode((family, occurrence, usual_steps) ORDER BY anchor_index)
            FILTER (is_first AND steps_back = head_steps) OVER lane AS opener
    FROM heads
    WINDOW lane AS (PARTITION BY trace_id, series, device)
)
SELECT
    trace_id,
    coalesce(
        arg_max(kernel_id, steps_back) FILTER (is_first AND steps_back = head_steps),
        arg_max(kernel_id, steps_back) FILTER (
            NOT is_first AND family = opener[1] AND occurrence = opener[2]
        ),
        arg_max(kernel_id, steps_back) FILTER (steps_back <= coalesce(opener[3], 0))
    ) AS kernel_id
FROM openers
GROUP BY trace_id, series, device, anchor_index;
