-- One row per kernel of a trace, without copies and fills, with its block as the reference analyser
-- counts them: from an anchor up to the next one, over all streams and devices.
--
-- `FROM _compat_kernels(trace_id, anchor)`; without an anchor there are no blocks.
--
-- trace_id   VARCHAR  trace
-- place      BIGINT   place among the kernels, by start, then as in the file; from 0
-- block      HUGEINT  block, from 0; -1 before the first anchor
-- is_closed  BOOLEAN  an anchor follows it, so the block counts
-- is_anchor  BOOLEAN  the name contains the anchor
-- name       VARCHAR  full name
-- category   VARCHAR  its category
-- kind       VARCHAR  compute, communication or memory
-- start_ns   BIGINT   start, ns
-- end_ns     BIGINT   end, ns
-- dur_ns     BIGINT   duration, ns; 0 when the file has none
CREATE MACRO _compat_kernels(of_trace, of_anchor) AS TABLE
WITH ordered AS (
    SELECT
        e.trace_id, row_number() OVER in_time - 1 AS place,
        coalesce(contains(e.name, CAST(of_anchor AS VARCHAR)), FALSE) AS is_anchor,
        e.name, k.category, k.kind, e.start_ns, coalesce(e.end_ns, e.start_ns) AS end_ns,
        coalesce(e.dur_ns, 0) AS dur_ns
    FROM events AS e
    LEFT JOIN kernels AS k ON k.trace_id = e.trace_id AND k.kernel_id = e.event_id
    WHERE e.trace_id = of_trace AND e.lane = 'device' AND e.category = 'kernel'
    WINDOW in_time AS (PARTITION BY e.trace_id ORDER BY e.start_ns, e.event_id)
)
SELECT
    trace_id, place, sum(CAST(is_anchor AS INTEGER)) OVER before - 1 AS block,
    sum(CAST(is_anchor AS INTEGER)) OVER before
        < sum(CAST(is_anchor AS INTEGER)) OVER (PARTITION BY trace_id) AS is_closed,
    is_anchor, name, category, kind, start_ns, end_ns, dur_ns
FROM ordered
WINDOW before AS (PARTITION BY trace_id ORDER BY place ROWS UNBOUNDED PRECEDING);
