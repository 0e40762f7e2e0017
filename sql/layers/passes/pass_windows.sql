-- One row per pass and time window that may represent it, and one per device for all its time: what
-- runs in the window, and how much of the pass it leaves out. The window anchor goes from the first
-- attention (or other anchor) to the end of the last one. It leaves out the embedding, what
-- precedes the first attention in its layer, the last feed-forward part, the head and the sampling.
-- The window extended includes them. The window monotonic is a run of rows of the file with
-- ascending starts, if such a run holds the anchors of exactly one pass. The window whole is
-- everything the capture has of the device.
--
-- key: trace_id, device, window_kind, pass_id
--
-- trace_id              VARCHAR  trace
-- rank                  INTEGER  rank in the job, NULL if unknown
-- device                INTEGER  device the pass ran on
-- pass_id               BIGINT   pass, from 0 in time order; -1 for the whole device
-- window_kind           VARCHAR  anchor, extended, monotonic or whole
-- start_ns              BIGINT   start
-- end_ns                BIGINT   end
-- span_us               DOUBLE   from that start to that end
-- row_count             BIGINT   rows that start in it
-- counted_count         BIGINT   those that count: no other row stands for the same work
-- ends_after_count      BIGINT   rows that end after it
-- compute_us            DOUBLE   sum of durations of everything but collectives
-- communication_us      DOUBLE   sum of durations of collectives
-- raw_communication_us  DOUBLE   the same, including rows that do not count
-- service_us            DOUBLE   sum of durations of the collectives' helpers, which are never
--                                counted
-- counted_us            DOUBLE   compute_us and communication_us
-- excluded_count        BIGINT   counted rows of the extended window minus those here; negative
--                                when more are here
-- excluded_us           DOUBLE   the same for sums of durations
-- excluded_pct          DOUBLE   that, as a share of the extended window's
-- whole_pct             DOUBLE   share of counted_us in that of the whole device
-- gap_threshold_us      DOUBLE   idle time that separates passes, NULL if passes are found
--                                otherwise
CREATE VIEW pass_windows AS
WITH summed AS (
    SELECT
        trace_id, rank, device, pass_id, window_kind, count(*) AS row_count,
        count(*) FILTER (counted) AS counted_count,
        count(*) FILTER (ends_after) AS ends_after_count,
        coalesce(sum(end_ns - start_ns) FILTER (counted AND part = 'compute'), 0) AS compute_ns,
        coalesce(sum(end_ns - start_ns) FILTER (counted AND part = 'communication'), 0) AS comm_ns,
        coalesce(sum(end_ns - start_ns) FILTER (part = 'communication'), 0) AS raw_comm_ns,
        coalesce(sum(end_ns - start_ns) FILTER (part = 'service'), 0) AS service_ns,
        coalesce(sum(end_ns - start_ns) FILTER (counted AND part <> 'service'), 0) AS counted_ns
    FROM window_kernels
    GROUP BY trace_id, rank, device, pass_id, window_kind
),
compared AS (
    SELECT
        trace_id, rank, device, pass_id, window_kind, row_count, counted_count, ends_after_count,
        compute_ns, comm_ns, raw_comm_ns, service_ns, counted_ns,
        max(counted_ns) FILTER (window_kind = 'extended') OVER pass AS extended_ns,
        max(counted_count) FILTER (window_kind = 'extended') OVER pass AS extended_count,
        max(counted_ns) FILTER (window_kind = 'whole') OVER (
            PARTITION BY trace_id, device
        ) AS whole_ns
    FROM summed
    WINDOW pass AS (PARTITION BY trace_id, device, pass_id)
)
SELECT
    c.trace_id, c.rank, c.device, c.pass_id, c.window_kind, w.start_ns, w.end_ns,
    (w.end_ns - w.start_ns) / 1000.0 AS span_us, c.row_count, c.counted_count, c.ends_after_count,
    c.compute_ns / 1000.0 AS compute_us, c.comm_ns / 1000.0 AS communication_us,
    c.raw_comm_ns / 1000.0 AS raw_communication_us, c.service_ns / 1000.0 AS service_us,
    c.counted_ns / 1000.0 AS counted_us, c.extended_count - c.counted_count AS excluded_count,
    (c.extended_ns - c.counted_ns) / 1000.0 AS excluded_us,
    100 * (c.extended_ns - c.counted_ns) / nullif(c.extended_ns, 0) AS excluded_pct,
    100 * CAST(c.counted_ns AS DOUBLE) / nullif(c.whole_ns, 0) AS whole_pct, g.threshold_ns / 1000.0
        AS gap_threshold_us
FROM compared AS c
JOIN _windows AS w
    ON w.trace_id = c.trace_id
    AND w.device = c.device
    AND w.pass_id = c.pass_id
    AND w.window_kind = c.window_kind
LEFT JOIN _gap_thresholds AS g ON g.trace_id = c.trace_id AND g.device = c.device;
