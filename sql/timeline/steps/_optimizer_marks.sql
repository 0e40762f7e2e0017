-- One row per interval of host time from the end of one step of PyTorch's optimizer to the end of
-- the next: a training step if nothing else marks steps. The first begins with the trace. An
-- optimizer step with less than a tenth of the most launches before it, as with several optimizers
-- or one per parameter, does not end an interval: its work belongs to the next.
--
-- trace_id  VARCHAR  trace
-- pid       VARCHAR  process
-- tid       VARCHAR  thread on which the optimizer step ends
-- start_ns  BIGINT   start, ns
-- end_ns    BIGINT   end, ns
CREATE VIEW _optimizer_marks AS
WITH notes AS (
    SELECT trace_id, pid, tid, start_ns, end_ns
    FROM events
    WHERE
        -- torch_npu and PyTorch 1.8 write annotations as operators.
        lane = 'host' AND category IN ('user_annotation', 'cpu_op', 'operator') AND dur_ns > 0
        AND starts_with(name, 'Optimizer.step#')
),
beginnings AS (
    SELECT trace_id, pid, min(start_ns) AS start_ns
    FROM events
    SEMI JOIN notes USING (trace_id, pid)
    WHERE lane = 'host'
    GROUP BY trace_id, pid
),
-- Of nested optimizers, the outermost ends last.
ends AS (
    SELECT n.trace_id, n.pid, n.tid, n.end_ns, b.start_ns AS begun_ns
    FROM notes AS n
    JOIN beginnings AS b ON b.trace_id = n.trace_id AND b.pid = n.pid
    QUALIFY n.end_ns > coalesce(max(n.end_ns) OVER (
        PARTITION BY n.trace_id, n.pid ORDER BY n.start_ns, n.end_ns DESC, n.tid
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), n.end_ns - 1)
),
launches AS (
    SELECT e.trace_id, e.pid, e.end_ns, count(*) AS launches
    FROM (
        SELECT trace_id, issued_pid, issued_ns
        FROM kernels
        WHERE issued_ns IS NOT NULL
    ) AS k
    ASOF JOIN ends AS e
        ON e.trace_id = k.trace_id AND e.pid = k.issued_pid AND e.end_ns > k.issued_ns
    GROUP BY e.trace_id, e.pid, e.end_ns
),
heavy AS (
    SELECT e.*
    FROM ends AS e
    JOIN launches AS l ON l.trace_id = e.trace_id AND l.pid = e.pid AND l.end_ns = e.end_ns
    QUALIFY 10 * l.launches >= max(l.launches) OVER (PARTITION BY e.trace_id, e.pid)
)
SELECT trace_id, pid, tid, coalesce(lag(end_ns) OVER process, begun_ns) AS start_ns, end_ns
FROM heavy
WINDOW process AS (PARTITION BY trace_id, pid ORDER BY end_ns);
