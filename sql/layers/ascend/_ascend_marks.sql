-- One row per kernel of an Ascend device that runs attention, with what it marks in a forward pass.
-- Attention and norms count only on the stream that runs most of the attention, also a norm that
-- is fused behind a collective. Kernels of other streams, and other collectives, whose rows may
-- name no stream, are ordered by time together with them.
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
-- is_main     BOOLEAN  it is on the stream that runs the attention, and no collective without a
--                      norm
-- is_product  BOOLEAN  it is a matrix product on that stream
-- seq         BIGINT   place on the device by start, from 1
-- stretch     BIGINT   anchors before it: 0 up to the first anchor, that one included
-- idle_ns     BIGINT   time in which nothing ran on the device right before it
-- pause_ns    BIGINT   the same for its stream, where that is the one of the attention
CREATE VIEW _ascend_marks AS
WITH on_device AS (
    SELECT k.*
    FROM kernels AS k
    JOIN traces AS t ON t.trace_id = k.trace_id
    JOIN _layer_settings AS s ON s.trace_id = k.trace_id
    WHERE t.format = 'ascend' AND k.kind <> 'memory' AND s.anchor IS NULL
),
types AS (
    SELECT
        n.trace_id, n.display_name,
        arg_min({'mark': m.mark, 'rows': m.min_rows}, m.priority) AS rule
    FROM (
        SELECT trace_id, display_name, unnest(_matching_ascend_marks(display_name)) AS priority
        FROM (SELECT DISTINCT trace_id, display_name FROM on_device)
    ) AS n
    JOIN ascend_marks AS m ON m.priority = n.priority
    GROUP BY n.trace_id, n.display_name
),
ruled AS (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns,
        k.display_name AS type, k.category, k.kind,
        CASE
            WHEN t.rule.mark = 'none' THEN NULL
            WHEN t.rule.rows IS NULL THEN t.rule.mark
            WHEN len(TRY_CAST(json_extract(k.input_dims, '$[0]') AS BIGINT[])) = 2
                AND TRY_CAST(json_extract(k.input_dims, '$[0][0]') AS BIGINT) >= t.rule.rows
                THEN t.rule.mark
        END AS mark
    FROM on_device AS k
    LEFT JOIN types AS t ON t.trace_id = k.trace_id AND t.display_name = k.display_name
),
streams AS (
    SELECT
        trace_id, device, stream,
        row_number() OVER (
            PARTITION BY trace_id, device ORDER BY count(*) DESC, stream NULLS LAST
        ) AS stream_rank
    FROM ruled
    WHERE mark = 'anchor'
    GROUP BY trace_id, device, stream
),
placed AS (
    SELECT
        r.*,
        r.stream IS NOT DISTINCT FROM s.stream AND (
            r.kind <> 'communication'
            OR coalesce(r.mark IN ('residual', 'closing', 'norm'), FALSE)
        ) AS is_main
    FROM ruled AS r
    JOIN streams AS s ON s.trace_id = r.trace_id AND s.device = r.device AND s.stream_rank = 1
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
