-- One row per kernel of an Ascend device, with what its type marks in a forward pass, on whichever
-- stream it is. Devices whose anchor the user named are left out.
--
-- rows: of ascend traces
--
-- trace_id   VARCHAR  trace
-- rank       INTEGER  rank in the job, NULL if unknown
-- device     INTEGER  device
-- stream     BIGINT   stream of the kernel
-- kernel_id  BIGINT   the kernel
-- start_ns   BIGINT   its start
-- end_ns     BIGINT   its end
-- type       VARCHAR  its type
-- category   VARCHAR  its category
-- kind       VARCHAR  compute or communication
-- mark       VARCHAR  anchor, residual, closing, norm, head, tail, receive, send or expert; NULL:
--                     none
CREATE VIEW _marking_kernels AS
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
)
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
LEFT JOIN types AS t ON t.trace_id = k.trace_id AND t.display_name = k.display_name;
