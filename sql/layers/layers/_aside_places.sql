-- One row per kernel of a layer that the host shows, on another stream than most of the layer's
-- compute: whether the layer may begin or end with it.
-- The streams of most compute show when layers run: a run is a sequence of one layer's kernels on
-- them. A kernel beside them counts for its layer's time unless it runs beside those of others: it
-- starts after all earlier runs have ended, and the next one is of its layer; or it starts in or
-- after a run of its layer, and ends before the next run. A gather that fetches weights ahead of
-- time, or a reduction that runs on while the next layer does, is in its layer, not in its time.
-- Passes that overlap on these streams, such as interleaved micro-batches, have no rows: there a
-- layer is to run beside those of another pass, and all its kernels count.
--
-- stored: meanwhile
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   the kernel
-- pass_id    BIGINT   pass
-- layer_id   BIGINT   layer
-- is_before  BOOLEAN  it starts after all earlier runs, and the next one is of its layer
-- is_behind  BOOLEAN  it starts in or after a run of its layer
-- start_ns   BIGINT   its start if the layer may begin with it, else NULL
-- end_ns     BIGINT   its end if the layer may end with it, else NULL
CREATE VIEW _aside_places AS
WITH mains AS (
    SELECT
        trace_id, device, pass_id, layer_id,
        coalesce(
            mode(stream ORDER BY seq) FILTER (kind = 'compute'), mode(stream ORDER BY seq)
        ) AS stream
    FROM _kernel_places
    WHERE call_id IS NOT NULL
    GROUP BY trace_id, device, pass_id, layer_id
),
placed AS MATERIALIZED (
    SELECT
        p.trace_id, p.device, p.kernel_id, p.pass_id, p.layer_id, p.start_ns, p.end_ns, p.seq,
        p.call_id IS NOT NULL AND p.stream <> m.stream AS is_aside
    FROM _kernel_places AS p
    JOIN mains AS m
        ON m.trace_id = p.trace_id AND m.device = p.device
        AND m.pass_id = p.pass_id AND m.layer_id = p.layer_id
),
apart_passes AS (
    SELECT trace_id, device, pass_id
    FROM (
        SELECT
            trace_id, device, pass_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
            max(max(end_ns)) OVER (
                in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS before_ns,
            lead(min(start_ns)) OVER in_time AS next_ns
        FROM placed
        WHERE NOT is_aside
        GROUP BY trace_id, device, pass_id
        WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY min(start_ns), pass_id)
    )
    WHERE start_ns >= coalesce(before_ns, start_ns) AND end_ns <= coalesce(next_ns, end_ns)
),
apart AS MATERIALIZED (
    SELECT
        p.trace_id, p.device, p.kernel_id, p.pass_id, p.layer_id, p.start_ns, p.end_ns, p.seq
    FROM placed AS p
    SEMI JOIN apart_passes AS a
        ON a.trace_id = p.trace_id AND a.device = p.device AND a.pass_id = p.pass_id
    WHERE p.is_aside
),
lanes AS (
    SELECT DISTINCT trace_id, device, stream
    FROM mains
    SEMI JOIN apart USING (trace_id, device)
),
steady AS (
    SELECT
        p.trace_id, p.device, p.start_ns, p.end_ns, p.seq, p.pass_id, p.layer_id,
        (lag(p.pass_id) OVER in_time, lag(p.layer_id) OVER in_time)
            IS DISTINCT FROM (p.pass_id, p.layer_id) AS begins
    FROM _kernel_places AS p
    SEMI JOIN lanes AS l
        ON l.trace_id = p.trace_id AND l.device = p.device AND l.stream = p.stream
    ANTI JOIN (FROM placed WHERE is_aside) AS a
        ON a.trace_id = p.trace_id AND a.kernel_id = p.kernel_id
    WINDOW in_time AS (PARTITION BY p.trace_id, p.device ORDER BY p.seq)
),
numbered AS (
    SELECT
        *, count(CASE WHEN begins THEN 1 END) OVER (
            PARTITION BY trace_id, device ORDER BY seq ROWS UNBOUNDED PRECEDING
        ) AS run
    FROM steady
),
runs AS (
    SELECT
        trace_id, device, any_value(pass_id) AS pass_id, any_value(layer_id) AS layer_id,
        min(seq) AS seq,
        max(max(end_ns)) OVER (
            in_time ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns,
        lead(min(start_ns)) OVER in_time AS next_ns
    FROM numbered
    GROUP BY trace_id, device, run
    WINDOW in_time AS (PARTITION BY trace_id, device ORDER BY run)
)
SELECT
    a.trace_id, a.device, a.kernel_id, a.pass_id, a.layer_id,
    coalesce(
        n.pass_id = a.pass_id AND n.layer_id = a.layer_id
        AND a.start_ns >= coalesce(n.before_ns, a.start_ns), FALSE
    ) AS is_before,
    coalesce(b.pass_id = a.pass_id AND b.layer_id = a.layer_id, FALSE) AS is_behind,
    CASE WHEN is_before THEN a.start_ns END AS start_ns,
    CASE
        WHEN is_behind AND a.end_ns <= coalesce(b.next_ns, a.end_ns) THEN a.end_ns
        WHEN is_before AND a.end_ns <= coalesce(n.next_ns, a.end_ns) THEN a.end_ns
    END AS end_ns
FROM apart AS a
ASOF LEFT JOIN runs AS b ON b.trace_id = a.trace_id AND b.device = a.device AND b.seq < a.seq
ASOF LEFT JOIN runs AS n ON n.trace_id = a.trace_id AND n.device = a.device AND n.seq > a.seq;
