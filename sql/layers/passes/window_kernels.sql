-- One row per pass, window and device operation in it, including those that do not count. See
-- pass_windows for the windows.
--
-- key: trace_id, window_kind, kernel_id
--
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL if unknown
-- device       INTEGER  device the operation ran on
-- pass_id      BIGINT   pass, from 0; -1 in the window of the whole device
-- window_kind  VARCHAR  anchor, extended, monotonic or whole
-- kernel_id    BIGINT   the operation
-- start_ns     BIGINT   its start
-- end_ns       BIGINT   its end
-- part         VARCHAR  compute, communication, or service: a helper of a collective that waits
--                       while the collective works
-- counted      BOOLEAN  it counts: no other row stands for the same work
-- ends_after   BOOLEAN  it ends after the window
CREATE VIEW window_kernels AS
WITH anchor_windows AS (
    SELECT trace_id, device, pass_id, window_kind, start_ns, end_ns, until_ns
    FROM _windows
    -- Of windows that start together only the last one has rows.
    WHERE window_kind = 'anchor' AND start_ns < until_ns
),
extended_windows AS (
    SELECT trace_id, device, pass_id, window_kind, start_ns, end_ns, until_ns
    FROM _windows
    WHERE window_kind = 'extended' AND start_ns < until_ns
),
timed AS (
    SELECT
        r.trace_id, r.rank, r.device, w.pass_id, w.window_kind, r.kernel_id, r.start_ns, r.end_ns,
        r.part, r.counted, w.end_ns AS window_end_ns, w.until_ns
    FROM _window_rows AS r
    ASOF JOIN anchor_windows AS w
        ON w.trace_id = r.trace_id AND w.device = r.device
        AND w.start_ns <= r.start_ns
    UNION ALL
    SELECT
        r.trace_id, r.rank, r.device, w.pass_id, w.window_kind, r.kernel_id, r.start_ns, r.end_ns,
        r.part, r.counted, w.end_ns, w.until_ns
    FROM _window_rows AS r
    ASOF JOIN extended_windows AS w
        ON w.trace_id = r.trace_id AND w.device = r.device
        AND w.start_ns <= r.start_ns
)
SELECT
    trace_id, rank, device, pass_id, window_kind, kernel_id, start_ns, end_ns, part, counted,
    end_ns > window_end_ns AS ends_after
FROM timed
WHERE start_ns < until_ns
UNION ALL
SELECT
    r.trace_id, r.rank, r.device, w.pass_id, w.window_kind, r.kernel_id, r.start_ns, r.end_ns,
    r.part, r.counted, FALSE
FROM _window_rows AS r
JOIN _windows AS w
    ON w.trace_id = r.trace_id AND w.device = r.device AND w.block = r.block
UNION ALL
SELECT
    r.trace_id, r.rank, r.device, -1, 'whole', r.kernel_id, r.start_ns, r.end_ns, r.part,
    r.counted, FALSE
FROM _window_rows AS r;
