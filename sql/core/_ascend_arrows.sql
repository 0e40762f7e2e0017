-- One row per device row of an Ascend timeline that an arrow from the host ends on: where on the
-- host it begins.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the device row
-- kind       VARCHAR  call (the runtime's call) or operator (the framework's)
-- tid        VARCHAR  thread on the host
-- at_ns      BIGINT   moment, ns
CREATE VIEW _ascend_arrows AS
WITH shown AS (
    SELECT trace_id, kernel_id, pid, tid, start_ns FROM _ascend_rows WHERE source = 'timeline'
),
traced AS (
    SELECT DISTINCT trace_id FROM shown
),
ends AS (
    SELECT trace_id, ph, category, id, pid, tid, start_ns, event_id
    FROM events
    SEMI JOIN traced USING (trace_id)
    WHERE
        lane = 'flow'
        AND category IN ('hosttodevice', 'async_npu')
        AND ph IN ('s', 'f')
        AND id IS NOT NULL
),
tails AS (
    -- An arrow may seem to end before it begins, as the clocks of host and device differ. Where a
    -- number is used again, the latest arrow counts that begins at most a millisecond later.
    SELECT
        trace_id, category, id, tid, start_ns, event_id,
        if(count(*) OVER (PARTITION BY trace_id, category, id) = 1, 0, start_ns - 1000000)
            AS from_ns
    FROM ends
    WHERE ph = 's'
),
heads AS (
    SELECT
        ends.trace_id, shown.kernel_id, category, id, ends.start_ns
    FROM ends
    JOIN shown
        ON shown.trace_id = ends.trace_id
        AND shown.pid = ends.pid
        AND shown.tid = ends.tid
        AND shown.start_ns = ends.start_ns
    WHERE ph = 'f'
)
SELECT
    heads.trace_id, heads.kernel_id, if(heads.category = 'async_npu', 'operator', 'call') AS kind,
    tails.tid, tails.start_ns AS at_ns
FROM heads
ASOF JOIN tails
    ON tails.trace_id = heads.trace_id
    AND tails.category = heads.category
    AND tails.id = heads.id
    AND tails.from_ns <= heads.start_ns
QUALIFY row_number() OVER (
    PARTITION BY heads.trace_id, heads.kernel_id, heads.category
    ORDER BY tails.start_ns, tails.event_id
) = 1;
