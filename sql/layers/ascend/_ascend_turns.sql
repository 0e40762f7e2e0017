-- One row per anchor of an Ascend device that begins a layer inside its run: where that layer
-- begins, and the feed-forward half of the layer before.
-- It begins at the last residual norm between the two anchors; without one, at the second norm;
-- without two norms, at the anchor itself. The first of these norms opens the feed-forward half,
-- unless it is the only one. If each half has a norm before and after it (Gemma) and none adds the
-- residual, no matrix product lies between the norm after a half and the one before the next: the
-- layer begins at the fourth norm, the feed-forward half at the second.
-- trace_id         VARCHAR  trace
-- device           INTEGER  device
-- stretch          BIGINT   anchors before the anchor
-- start_seq        BIGINT   place of the layer's first kernel
-- ffn_seq          BIGINT   place of the first kernel of the feed-forward half before it, or NULL
-- usual_residuals  BIGINT   usual number of residual norms between two layers of the device
-- usual_products   BIGINT   usual number of matrix products from a layer's beginning to its anchor
-- usual_norms      INTEGER  usual number of norms of a layer if none adds the residual: 4 with one
--                           before and after each half, else 2
CREATE VIEW _ascend_turns AS
WITH inner_ones AS (
    SELECT
        trace_id, device, stretch, seq,
        begins_layer AND run_id = lag(run_id) OVER lane AS is_turn
    FROM _ascend_anchors
    WINDOW lane AS (PARTITION BY trace_id, device ORDER BY stretch)
),
found AS (
    SELECT
        a.trace_id, a.device, a.stretch, any_value(a.seq) AS anchor_seq,
        coalesce(any_value(n.residuals), 0) AS residuals,
        coalesce(any_value(n.norms), 0) AS norms,
        min(n.seq) FILTER (n.is_residual) AS first_residual,
        max(n.seq) FILTER (n.is_residual) AS last_residual,
        min(n.seq) AS first_norm, min(n.seq) FILTER (n.norm_nth = 2) AS second_norm,
        min(n.products_left) FILTER (n.is_residual AND n.residual_nth = n.residuals)
            AS residual_products,
        min(n.seq) FILTER (n.norm_nth = 4) AS fourth_norm,
        list(n.products_left ORDER BY n.norm_nth) FILTER (n.norm_nth <= 4) AS products
    FROM inner_ones AS a
    LEFT JOIN _ascend_norms AS n
        ON n.trace_id = a.trace_id AND n.device = a.device AND n.stretch = a.stretch
    WHERE a.is_turn
    GROUP BY a.trace_id, a.device, a.stretch
),
paired AS (
    SELECT
        *,
        coalesce(
            residuals = 0 AND products[1] = products[2] AND products[2] > products[3]
            AND products[3] = products[4] AND products[4] > 0, FALSE
        ) AS is_paired
    FROM found
)
SELECT
    trace_id, device, stretch,
    CASE
        WHEN residuals > 0 THEN last_residual
        WHEN is_paired THEN fourth_norm
        WHEN norms > 1 THEN second_norm
        ELSE anchor_seq
    END AS start_seq,
    CASE
        WHEN residuals > 1 THEN first_residual
        WHEN is_paired THEN second_norm
        WHEN residuals = 0 AND norms > 1 THEN first_norm
    END AS ffn_seq,
    mode(residuals ORDER BY residuals DESC) OVER device AS usual_residuals,
    mode(
        CASE
            WHEN residuals > 0 THEN residual_products
            WHEN is_paired THEN products[4]
            WHEN norms > 1 THEN products[2]
        END
    ) OVER device AS usual_products,
    mode(CASE WHEN is_paired THEN 4 ELSE 2 END) OVER device AS usual_norms
FROM paired
WINDOW device AS (PARTITION BY trace_id, device);
