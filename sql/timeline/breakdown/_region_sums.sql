-- One row per device, region and phase: sums, span and union of the operations in the region and in
-- regions inside it, and the time of its calls on the host. Sums may exceed 64 bits; as DOUBLE they
-- are exact to the nanosecond up to 104 days.
--
-- stored: per trace
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job
-- device        INTEGER  device
-- path          VARCHAR  scopes, joined by =>; (unattributed) and the operation's name where
--                        unknown
-- depth         BIGINT   scopes in the path
-- phase         VARCHAR  forward, backward or recompute, NULL if unknown
-- display_path  VARCHAR  path to show
-- calls         BIGINT   operations
-- self_ns       DOUBLE   sum of their own times, ns
-- own_ns        DOUBLE   part of self_ns in operations of the region itself, ns
-- start_ns      BIGINT   start of the first operation, ns
-- end_ns        BIGINT   end of the last, ns
-- busy_ns       DOUBLE   union of these operations, except those that only wait, ns; of one that
--                        encloses others, such as a loop, its own time
-- host_ns       DOUBLE   union of the calls of its scopes on the host, see regions; NULL if the
--                        host shows none, ns
CREATE VIEW _region_sums AS
WITH ops AS (
    SELECT
        o.trace_id, o.rank, o.device, o.phase, o.start_ns, o.end_ns, o.self_ns,
        e.kernel_id IS NOT NULL AS encloses, o.class <> 'wait' AND e.kernel_id IS NULL AS works,
        coalesce(o.path, '(unattributed)=>' || o.canonical_name) AS path,
        coalesce(o.display_path, '(unattributed)=>' || o.canonical_name) AS display
    FROM _device_ops AS o
    LEFT JOIN enclosing_kernels AS e ON e.trace_id = o.trace_id AND e.kernel_id = o.kernel_id
    WHERE o.role = 'op'
),
scopes AS (
    -- A call counts once, whether or not its operations are differentiated.
    SELECT trace_id, pid, path, start_ns, end_ns, nullif(phase, 'forward') AS phase, covered
    FROM _scope_paths
    WHERE kind IN ('module', 'annotation', 'backward') AND path IS NOT NULL
),
prefixes AS MATERIALIZED (
    -- Every path with each of its prefixes; numbers sort faster than names.
    SELECT path, depth, prefix, dense_rank() OVER (ORDER BY prefix) AS region_id
    FROM (
        SELECT path, depth, array_to_string(string_split(path, '=>')[:depth], '=>') AS prefix
        FROM (
            SELECT path, unnest(range(1, len(string_split(path, '=>')) + 1)) AS depth
            FROM (SELECT path FROM ops UNION SELECT path FROM scopes)
        )
    )
),
lanes AS MATERIALIZED (
    -- One number per region, device and phase: windows sort and carry fewer bytes.
    SELECT
        kinds.trace_id, kinds.rank, kinds.device, kinds.phase, kinds.path, prefixes.region_id,
        kinds.path = prefixes.prefix AS is_own,
        CAST(dense_rank() OVER (
            PARTITION BY kinds.trace_id ORDER BY kinds.device, kinds.phase, prefixes.region_id
        ) AS UINTEGER) AS lane_id
    FROM (SELECT DISTINCT trace_id, rank, device, phase, path FROM ops) AS kinds
    JOIN prefixes USING (path)
),
placed AS (
    SELECT
        lanes.trace_id, lanes.lane_id, lanes.is_own, ops.start_ns, ops.end_ns, ops.self_ns,
        ops.works, ops.encloses,
        max(ops.end_ns) FILTER (ops.works) OVER (
            PARTITION BY lanes.trace_id, lanes.lane_id ORDER BY ops.start_ns, ops.end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS until_ns
    FROM ops
    JOIN lanes
        ON lanes.trace_id = ops.trace_id AND lanes.device = ops.device AND lanes.path = ops.path
        AND lanes.phase IS NOT DISTINCT FROM ops.phase
),
sums AS (
    SELECT
        trace_id, lane_id, count(*) AS calls, sum(self_ns) AS self_ns,
        sum(self_ns) FILTER (is_own) AS own_ns, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        -- What a loop encloses may be of another region or phase: only its own time is its work.
        coalesce(sum(greatest(end_ns - greatest(start_ns, until_ns), 0)) FILTER (works), 0)
        + coalesce(sum(self_ns) FILTER (encloses), 0) AS busy_ns
    FROM placed
    GROUP BY trace_id, lane_id
),
summed AS (
    SELECT rank, device, phase, region_id, sums.* EXCLUDE (lane_id)
    FROM sums
    JOIN (
        SELECT DISTINCT lane_id, trace_id, rank, device, phase, region_id FROM lanes
    ) AS named USING (trace_id, lane_id)
),
shown AS (
    SELECT
        trace_id, region_id, min(
            if(len(parts) = len(string_split(path, '=>')),
                array_to_string(parts[:depth], '=>'), prefix)
        ) AS display_path
    FROM (SELECT DISTINCT trace_id, path, string_split(display, '=>') AS parts FROM ops)
    JOIN prefixes USING (path)
    GROUP BY trace_id, region_id
),
called AS (
    -- A scope adds nothing to the regions that it shares with the scope around it.
    SELECT
        trace_id, pid, phase, region_id, start_ns, end_ns,
        max(end_ns) OVER (
            PARTITION BY trace_id, pid, phase, region_id ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS until_ns
    FROM scopes
    JOIN prefixes ON prefixes.path = scopes.path AND prefixes.depth > scopes.covered
),
hosts AS (
    SELECT
        trace_id, pid, phase, region_id,
        sum(greatest(end_ns - greatest(start_ns, until_ns), 0)) AS host_ns
    FROM called
    GROUP BY trace_id, pid, phase, region_id
),
launchers AS (
    SELECT DISTINCT trace_id, device, issued_pid AS pid FROM kernels WHERE issued_by IS NOT NULL
),
of_devices AS (
    SELECT trace_id, device, phase, region_id, sum(host_ns) AS host_ns
    FROM hosts
    JOIN launchers USING (trace_id, pid)
    GROUP BY trace_id, device, phase, region_id
)
SELECT
    s.trace_id, s.rank, s.device, r.prefix AS path, r.depth, s.phase, shown.display_path, s.calls,
    CAST(s.self_ns AS DOUBLE) AS self_ns, CAST(coalesce(s.own_ns, 0) AS DOUBLE) AS own_ns,
    s.start_ns, s.end_ns, CAST(s.busy_ns AS DOUBLE) AS busy_ns,
    CAST(h.host_ns AS DOUBLE) AS host_ns
FROM summed AS s
JOIN (SELECT DISTINCT region_id, prefix, depth FROM prefixes) AS r USING (region_id)
JOIN shown ON shown.trace_id = s.trace_id AND shown.region_id = s.region_id
LEFT JOIN of_devices AS h
    ON h.trace_id = s.trace_id AND h.device = s.device
    AND h.phase IS NOT DISTINCT FROM nullif(s.phase, 'forward') AND h.region_id = s.region_id;
