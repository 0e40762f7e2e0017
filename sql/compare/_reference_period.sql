-- One row: how many layers the reference analyser reads from the rhythm of the blocks' durations.
--
-- `FROM _reference_period(trace_id, anchor, blocks per layer)`. Scores of longer periods have more
-- terms and are not divided by their number, so that the longest period tends to win.
--
-- block_count  BIGINT  blocks looked at, 200 at most
-- num_layers   BIGINT  layers, NULL where no period scores more than 0.7 per block
CREATE MACRO _reference_period(of_trace, of_anchor, of_blocks) AS TABLE
WITH blocks AS (
    SELECT block, CAST(sum(dur_ns) AS DOUBLE) AS dur_ns, count(*) OVER () AS block_count
    FROM _reference_kernels(of_trace, of_anchor)
    WHERE is_closed AND block BETWEEN 0 AND 199
    GROUP BY block
),
scores AS (
    SELECT
        b.block - a.block AS period,
        sum(least(a.dur_ns, b.dur_ns) / greatest(a.dur_ns, b.dur_ns))
            FILTER (least(a.dur_ns, b.dur_ns) > 0) AS score
    FROM blocks AS a
    JOIN blocks AS b ON b.block > a.block
    WHERE
        b.block - a.block BETWEEN of_blocks AND 119
        AND 2 * (b.block - a.block) <= a.block_count
        AND a.block < b.block - a.block
        AND a.block_count >= 4
    GROUP BY period
),
best AS (
    SELECT period, score FROM scores ORDER BY score DESC NULLS LAST, period LIMIT 1
)
SELECT
    (SELECT count(*) FROM blocks) AS block_count,
    (SELECT period FROM best WHERE score > 0.7 * period) // of_blocks AS num_layers;
