-- One row per softmax that is a layer's unfused attention, which no kernel shows by its name:
-- between the two products of the attention, kernels only scale, mask, copy, drop out and add a
-- position bias. A router's softmax is next to a choice of experts, that of a loss next to the
-- loss, that before sampling is not followed by a product, or only after the chosen token was
-- looked up: a gather is between them. (A reduction may be: PyTorch's safe softmax looks for rows
-- that are all masked.) If the user named an anchor, there are no rows.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the softmax
CREATE VIEW _written_attention AS
WITH devices AS (
    SELECT c.trace_id, c.device
    FROM (SELECT DISTINCT trace_id, device, category FROM kernels) AS c
    JOIN _layer_settings AS s ON s.trace_id = c.trace_id
    WHERE s.anchor IS NULL
    GROUP BY c.trace_id, c.device
    HAVING bool_or(c.category = 'softmax')
),
played AS (
    SELECT
        k.trace_id, k.device, k.stream, k.kernel_id, k.start_ns,
        starts_with(k.category, 'gemm') AS is_product,
        k.category = 'softmax' AND NOT contains(lower(k.name), 'backward') AS is_softmax,
        k.category = 'index' AS is_lookup,
        count(CASE WHEN k.category = 'index' THEN 1 END) OVER (
            PARTITION BY k.trace_id, k.device, k.stream ORDER BY k.start_ns, k.kernel_id
            ROWS UNBOUNDED PRECEDING
        ) AS lookups
    FROM kernels AS k
    JOIN devices AS d ON d.trace_id = k.trace_id AND d.device = k.device
    WHERE
        k.kind <> 'memory'
        AND k.category NOT IN (
            'elementwise', 'fused', 'copy', 'cast', 'fill', 'reduce', 'random'
        )
)
SELECT trace_id, kernel_id
FROM played
WHERE NOT is_lookup
WINDOW lane AS (PARTITION BY trace_id, device, stream ORDER BY start_ns, kernel_id)
QUALIFY
    is_softmax AND coalesce(lag(is_product) OVER lane, FALSE)
    AND coalesce(lead(is_product) OVER lane AND lead(lookups) OVER lane = lookups, FALSE);
