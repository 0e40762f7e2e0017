-- One row per pass and time window that represents it, and one per device for all its time. A row
-- of the device is in a window if it starts there; a pass's window ends before the next one's.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL if unknown
-- device       INTEGER  device
-- pass_id      BIGINT   pass, -1 for the whole device
-- window_kind  VARCHAR  anchor, extended, monotonic or whole
-- start_ns     BIGINT   start
-- end_ns       BIGINT   end
-- until_ns     BIGINT   rows that start from here on are outside
-- block        BIGINT   block of the file that the window is, NULL unless monotonic
CREATE VIEW _windows AS
WITH in_passes AS (
    SELECT trace_id, rank, device, pass_id, start_ns, end_ns
    FROM _kernel_places
    WHERE layer_id IS NOT NULL
    UNION ALL
    SELECT trace_id, rank, device, pass_id, start_ns, end_ns
    FROM _part_kernels
    -- Only kernels define windows.
    WHERE kind <> 'memory' AND pass_id IS NOT NULL
),
marked AS (
    SELECT a.trace_id, a.rank, a.device, p.pass_id, a.kernel_id, a.start_ns, a.end_ns
    FROM anchors AS a
    JOIN _kernel_places AS p ON p.trace_id = a.trace_id AND p.kernel_id = a.kernel_id
    WHERE p.layer_id IS NOT NULL
),
blocks AS (
    SELECT trace_id, device, block, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM _window_rows
    WHERE block IS NOT NULL
    GROUP BY trace_id, device, block
    QUALIFY count(*) OVER (PARTITION BY trace_id, device) > 1
),
anchor_blocks AS (
    SELECT
        m.trace_id, m.rank, m.device, m.pass_id, r.block,
        count(DISTINCT r.block) OVER pass AS blocks_of_pass,
        count(DISTINCT m.pass_id) OVER (PARTITION BY m.trace_id, m.device, r.block)
            AS passes_of_block
    FROM marked AS m
    JOIN _window_rows AS r ON r.trace_id = m.trace_id AND r.kernel_id = m.kernel_id
    WINDOW pass AS (PARTITION BY m.trace_id, m.device, m.pass_id)
),
windows AS (
    SELECT
        trace_id, rank, device, pass_id, 'anchor' AS window_kind, min(start_ns) AS start_ns,
        max(end_ns) AS end_ns
    FROM marked
    GROUP BY trace_id, rank, device, pass_id
    UNION ALL
    SELECT trace_id, rank, device, pass_id, 'extended', min(start_ns), max(end_ns)
    FROM in_passes
    GROUP BY trace_id, rank, device, pass_id
)
SELECT
    trace_id, rank, device, pass_id, window_kind, start_ns, end_ns,
    least(end_ns, lead(start_ns, 1, end_ns) OVER (
        PARTITION BY trace_id, device, window_kind ORDER BY start_ns, pass_id
    )) AS until_ns,
    CAST(NULL AS BIGINT) AS block
FROM windows
UNION ALL
SELECT DISTINCT
    a.trace_id, a.rank, a.device, a.pass_id, 'monotonic', b.start_ns, b.end_ns, b.end_ns, a.block
FROM anchor_blocks AS a
JOIN blocks AS b ON b.trace_id = a.trace_id AND b.device = a.device AND b.block = a.block
WHERE a.blocks_of_pass = 1 AND a.passes_of_block = 1
UNION ALL
SELECT
    trace_id, rank, device, -1, 'whole', min(start_ns), max(end_ns), max(end_ns), NULL
FROM _window_rows
GROUP BY trace_id, rank, device;
