-- One row per pass and layer with communication: how much of it no other kernel of the layer hides.
-- Each kernel opens and closes; between two such moments a count says what runs. Copies and fills
-- of memory hide nothing.
-- trace_id    VARCHAR  trace
-- rank        INTEGER  rank in the job, NULL when unknown
-- device      INTEGER  device the layer ran on
-- pass_id     BIGINT   pass, from 0 in time order
-- layer_id    BIGINT   layer, from 0
-- category    VARCHAR  communication category with most time in the layer
-- exposed_us  DOUBLE   time in which communication runs and nothing else of the layer does
CREATE VIEW _exposed_layers AS
WITH marked AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, k.category, k.start_ns, k.end_ns,
        CAST(coalesce(g.category_group = 'communication', FALSE) AS INTEGER) AS communicates
    FROM layer_kernels AS k
    LEFT JOIN category_groups AS g ON g.category = k.category
    WHERE k.kind <> 'memory'
),
moments AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, start_ns AS at_ns,
        communicates AS communication, 1 - communicates AS work
    FROM marked
    UNION ALL
    SELECT
        trace_id, rank, device, pass_id, layer_id, end_ns, -communicates, communicates - 1
    FROM marked
),
slices AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id,
        lead(at_ns) OVER in_time - at_ns AS slice_ns,
        sum(communication) OVER in_time AS communication, sum(work) OVER in_time AS work
    FROM moments
    WINDOW in_time AS (
        PARTITION BY trace_id, rank, device, pass_id, layer_id
        ORDER BY at_ns ROWS UNBOUNDED PRECEDING
    )
),
exposed AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id,
        coalesce(sum(slice_ns) FILTER (communication > 0 AND work = 0), 0) / 1000.0 AS exposed_us
    FROM slices
    GROUP BY trace_id, rank, device, pass_id, layer_id
),
named AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, arg_max(category, (sum_us, category)) AS category
    FROM layer_categories
    WHERE category_group = 'communication'
    GROUP BY trace_id, rank, device, pass_id, layer_id
)
SELECT e.trace_id, e.rank, e.device, e.pass_id, e.layer_id, n.category, e.exposed_us
FROM exposed AS e
JOIN named AS n
    ON n.trace_id = e.trace_id
    AND n.rank IS NOT DISTINCT FROM e.rank
    AND n.device IS NOT DISTINCT FROM e.device
    AND n.pass_id = e.pass_id
    AND n.layer_id = e.layer_id;
