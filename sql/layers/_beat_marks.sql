-- One row per beat and mark of pass_marks that occurs on the device, and how often it occurs there.
-- The step of a beat is the one of the host that its attention was launched from, else the
-- annotation of the device that it runs in.
-- trace_id    VARCHAR  trace
-- series      VARCHAR  the model, empty where the trace has one alone
-- device      INTEGER  device
-- beat        BIGINT   beat, from 0
-- mark        VARCHAR  mark
-- mark_count  BIGINT   occurrences
CREATE VIEW _beat_marks AS
WITH heard AS (
    SELECT
        *,
        start_ns - max(end_ns) OVER (
            PARTITION BY trace_id, series, device ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS idle_ns
    FROM _beats
),
attentions AS (
    SELECT trace_id, series, device, beat, start_ns, launch_ns, graph_id, call_ns
    FROM heard
    WHERE begins_beat
),
pauses AS (
    SELECT trace_id, series, device, beat, max(idle_ns) AS pause_ns
    FROM heard
    GROUP BY trace_id, series, device, beat
),
on_device AS (
    SELECT
        a.trace_id, a.series, a.device, a.beat, a.launch_ns, a.graph_id,
        a.call_ns,
        CASE WHEN a.start_ns < s.end_ns THEN s.start_ns END AS step_ns
    FROM attentions AS a
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NOT NULL) AS s
        ON s.trace_id = a.trace_id AND s.device = a.device AND s.start_ns <= a.start_ns
),
turns AS (
    SELECT
        d.trace_id, d.series, d.device, d.beat, d.graph_id,
        lead(d.graph_id) OVER lane AS next_graph_id, d.call_ns,
        lead(d.call_ns) OVER lane AS next_call_ns,
        coalesce(CASE WHEN d.launch_ns < s.end_ns THEN s.start_ns END, d.step_ns) AS step_ns,
        lead(coalesce(CASE WHEN d.launch_ns < s.end_ns THEN s.start_ns END, d.step_ns)) OVER lane
            AS next_step_ns
    FROM on_device AS d
    ASOF LEFT JOIN (SELECT * FROM _steps WHERE device IS NULL) AS s
        ON s.trace_id = d.trace_id AND s.start_ns <= d.launch_ns
    WINDOW lane AS (PARTITION BY d.trace_id, d.series, d.device ORDER BY d.beat)
),
found AS (
    SELECT trace_id, series, device, beat, category AS mark, count(*) AS mark_count
    FROM heard
    GROUP BY trace_id, series, device, beat, category
    UNION ALL
    SELECT trace_id, series, device, beat, 'graph', 1
    FROM turns
    WHERE graph_id <> next_graph_id
    UNION ALL
    SELECT trace_id, series, device, beat, 'call', 1
    FROM turns
    WHERE call_ns <> next_call_ns
    UNION ALL
    SELECT trace_id, series, device, beat, 'step', 1
    FROM turns
    WHERE next_step_ns IS NOT NULL AND step_ns IS DISTINCT FROM next_step_ns
    UNION ALL
    SELECT trace_id, series, device, beat, 'pause', 1
    FROM pauses
    QUALIFY pause_ns > 20000 + 4 * median(pause_ns) OVER (PARTITION BY trace_id, series, device)
)
SELECT f.trace_id, f.series, f.device, f.beat, f.mark, f.mark_count
FROM found AS f
JOIN pass_marks AS m ON m.mark = f.mark;
