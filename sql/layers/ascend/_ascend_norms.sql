-- One row per norm of the hidden state on the main streams of an Ascend device, with its position
-- between two anchors.
-- trace_id       VARCHAR  trace
-- device         INTEGER  device
-- stretch        BIGINT   anchors before it
-- seq            BIGINT   place on the device of the kernel that it opens a half with: itself, or
--                         the next one where it is fused behind the product of the half before
-- is_residual    BOOLEAN  it adds the residual
-- norm_nth       BIGINT   number among the norms of its stretch, from 1
-- residual_nth   BIGINT   residual norms of its stretch up to it
-- residuals      BIGINT   residual norms of its stretch
-- norms          BIGINT   norms of its stretch
-- products_left  BIGINT   matrix products from it to the next anchor
CREATE VIEW _ascend_norms AS
WITH main AS (
    SELECT
        trace_id, device, stretch, mark,
        CASE WHEN mark = 'closing' THEN lead(seq, 1, seq) OVER stream ELSE seq END AS seq,
        mark IN ('residual', 'closing', 'norm') AS is_norm,
        mark IN ('residual', 'closing') AS is_residual,
        count(CASE WHEN is_product THEN 1 END) OVER (
            PARTITION BY trace_id, device, stretch ORDER BY seq DESC ROWS UNBOUNDED PRECEDING
        ) AS products_left
    FROM _ascend_marks
    WHERE is_main
    WINDOW stream AS (PARTITION BY trace_id, device ORDER BY seq)
)
SELECT
    trace_id, device, stretch, seq, is_residual, row_number() OVER in_time AS norm_nth,
    count(CASE WHEN is_residual THEN 1 END) OVER (in_time ROWS UNBOUNDED PRECEDING)
        AS residual_nth,
    count(CASE WHEN is_residual THEN 1 END) OVER stretch AS residuals,
    count(*) OVER stretch AS norms,
    products_left
FROM main
WHERE is_norm
WINDOW
    stretch AS (PARTITION BY trace_id, device, stretch),
    in_time AS (PARTITION BY trace_id, device, stretch ORDER BY seq);
