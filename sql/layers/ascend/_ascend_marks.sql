-- One row per kernel of an Ascend device that runs attention, with what it marks in a forward pass.
-- Attention and norms count only on the main streams (_ascend_streams), also a norm that is fused
-- behind a collective. Kernels of other streams, and other collectives, whose rows may name no
-- stream, are ordered by time together with them.
-- Devices whose anchor the user named are left out.
--
-- stored: per ascend trace
--
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL if unknown
-- device      INTEGER  device
-- stream      BIGINT   stream of the kernel
-- kernel_id   BIGINT   the kernel
-- start_ns    BIGINT   its start
-- end_ns      BIGINT   its end
-- type        VARCHAR  its type
-- category    VARCHAR  its category
-- mark        VARCHAR  anchor, residual, closing, norm, head, tail, receive, send or expert; NULL:
--                      none
-- is_main     BOOLEAN  it is on a main stream, and no collective without a norm
-- is_product  BOOLEAN  it is a matrix product on a main stream
-- seq         BIGINT   place on the device by start, from 1
-- stretch     BIGINT   anchors before it: 0 up to the first anchor, that one included
-- idle_ns     BIGINT   time in which nothing ran on the device right before it
-- pause_ns    BIGINT   time from the end of all earlier kernels with is_main to its start; negative
--                      if one still runs; NULL without is_main and for the first one
CREATE VIEW _ascend_marks AS
WITH main_streams AS MATERIALIZED (
    SELECT trace_id, device, stream
    FROM _ascend_streams
),
placed AS (
    SELECT
        k.*,
        s.device IS NOT NULL AND (
            k.kind <> 'communication'
            OR coalesce(k.mark IN ('residual', 'closing', 'norm'), FALSE)
        ) AS is_main
    FROM _marking_kernels AS k
    SEMI JOIN main_streams AS d ON d.trace_id = k.trace_id AND d.device = k.device
    LEFT JOIN main_streams AS s
        ON s.trace_id = k.trace_id AND s.device = k.device
        AND s.stream IS NOT DISTINCT FROM k.stream
)
SELECT
    trace_id, rank, device, stream, kernel_id, start_ns, end_ns, type, category,
    CASE
        WHEN is_main OR mark IN ('head', 'tail', 'receive', 'send', 'expert') THEN mark
    END AS mark,
    is_main,
    is_main AND starts_with(category, 'gemm') AS is_product,
    row_number() OVER in_time AS seq,
    count(CASE WHEN is_main AND mark = 'anchor' THEN 1 END) OVER (in_time ROWS UNBOUNDED PRECEDING)
        - CAST(is_main AND coalesce(mark = 'anchor', FALSE) AS BIGINT) AS stretch,
    greatest(start_ns - max(end_ns) OVER (
        in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS idle_ns,
    CASE
        WHEN is_main THEN start_ns - max(end_ns) OVER (
            PARTITION BY trace_id, device, is_main ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
    END AS pause_ns
FROM placed
WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY start_ns, kernel_id);
