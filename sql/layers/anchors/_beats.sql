-- One row per kernel of the stream that does most of a device's work, with its beat: a beat begins
-- with the attention of a layer and lasts until the next one's. Attention kernels with no matrix
-- product and no collective between them belong to one beat: split attention and its merge, or two
-- variants that layers alternate between, count once. So does attention to the keys of each rank of
-- a ring, which exchanges them in between: it repeats without a norm or an activation. So do the
-- attentions of a mixed batch or of chunks of keys with latent attention, with a single product
-- (absorption or expansion) between them and no norm: two layers have more between them. A causal
-- convolution and the recurrence after it are one mixer, although Mamba-1 has small products
-- between them. So are the decay's gate and the convolution of Kimi's delta attention: with the
-- products of the output's gate, but no norm, activation, expert or collective between them.
-- trace_id      VARCHAR  trace
-- series        VARCHAR  the model, empty if the host shows only one, or none
-- device        INTEGER  device
-- stream        BIGINT   the stream
-- kernel_id     BIGINT   the kernel
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- name          VARCHAR  its name
-- category      VARCHAR  its category
-- natural_role  VARCHAR  begin for norms, inside for attention, end for collectives
-- graph_id      BIGINT   launch that it shares with other kernels, NULL if it has its own
-- issued_ns     BIGINT   when the host issued it, ns (see kernels)
-- call_ns       BIGINT   start of the call of a model around the launch, NULL if unknown
-- beat          BIGINT   beat, from 1; 0 before the first attention
-- begins_beat   BOOLEAN  it is the first attention kernel of its beat
CREATE VIEW _beats AS
WITH played AS (
    -- A single number for all partition keys makes the sort rows narrower.
    SELECT
        hash(k.series, k.device) AS lane_id,
        k.trace_id, k.series, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        k.name, k.category, r.role AS natural_role, k.issued_ns, k.call_ns,
        coalesce(r.role = 'inside', FALSE) AS is_attention,
        CASE WHEN k.launch_kernels > 1 THEN k.launch_id END AS graph_id,
        k.category = 'linear_attention' AND contains(lower(k.name), 'conv') AS is_convolution,
        k.category = 'linear_attention' AND contains(lower(k.name), 'gate') AS is_gate,
        starts_with(k.category, 'gemm') AS is_product,
        k.category IN ('moe', 'moe_gemm', 'mc2')
            OR (k.kind = 'communication' AND NOT contains(k.name, 'SendRecv')) AS parts_layers,
        coalesce(r.role = 'begin', FALSE) OR k.category = 'activation' AS is_outside
    FROM _heard_kernels AS k
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE k.kind <> 'memory'
),
streams AS (
    SELECT
        trace_id, series, device, stream, sum(dur_ns) AS sum_ns,
        bool_or(is_outside) AS shows_outside
    FROM played
    GROUP BY trace_id, series, device, stream
    HAVING bool_or(is_attention)
),
busiest AS (
    -- The smallest integer cannot be negated.
    SELECT
        trace_id, series, device, arg_max(stream, (sum_ns, -1 - stream)) AS stream,
        arg_max(shows_outside, (sum_ns, -1 - stream)) AS shows_outside
    FROM streams
    GROUP BY trace_id, series, device
),
counted AS (
    SELECT
        p.*, b.shows_outside,
        lag(p.is_attention, 1, FALSE) OVER lane AS follows_attention,
        count(CASE WHEN p.is_product THEN 1 END) OVER (lane ROWS UNBOUNDED PRECEDING) AS products,
        count(CASE WHEN p.parts_layers THEN 1 END) OVER (lane ROWS UNBOUNDED PRECEDING) AS parted,
        count(CASE WHEN p.is_outside THEN 1 END) OVER (lane ROWS UNBOUNDED PRECEDING) AS outside
    FROM played AS p
    JOIN busiest AS b
        ON b.trace_id = p.trace_id
        AND b.series = p.series
        AND b.device = p.device
        AND b.stream IS NOT DISTINCT FROM p.stream
    WINDOW lane AS (PARTITION BY p.trace_id, p.lane_id ORDER BY p.start_ns, p.kernel_id)
),
begun AS (
    SELECT
        *,
        is_attention AND coalesce(
            CASE
                WHEN
                    lag(is_convolution) OVER alike
                    AND category = 'linear_attention' AND NOT is_convolution
                    THEN FALSE
                WHEN
                    is_convolution AND lag(is_gate) OVER alike
                    AND shows_outside AND outside = lag(outside) OVER alike
                    AND parted = lag(parted) OVER alike
                    THEN FALSE
                WHEN parted > lag(parted) OVER alike OR products > lag(products) OVER alike + 1
                    THEN TRUE
                ELSE
                    (
                        products > lag(products) OVER alike
                        OR NOT follows_attention AND name = lag(name) OVER alike
                    )
                    AND (outside > lag(outside) OVER alike OR NOT shows_outside)
            END, TRUE
        ) AS begins_beat
    FROM counted
    WINDOW alike AS (
        PARTITION BY trace_id, lane_id, is_attention ORDER BY start_ns, kernel_id
    )
)
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, name, category, natural_role,
    graph_id, issued_ns, call_ns,
    count(CASE WHEN begins_beat THEN 1 END) OVER (lane ROWS UNBOUNDED PRECEDING) AS beat,
    begins_beat
FROM begun
WINDOW lane AS (PARTITION BY trace_id, lane_id ORDER BY start_ns, kernel_id);
