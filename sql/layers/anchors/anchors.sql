-- One row per anchor: a kernel that marks the beginning, the middle or the end of a layer's block.
--
-- key: trace_id, kernel_id
--
-- trace_id        VARCHAR  trace
-- rank            INTEGER  rank in the job, NULL if unknown
-- device          INTEGER  device the kernel ran on
-- series          VARCHAR  model that it belongs to where the trace has several, else empty
-- stream          BIGINT   stream the anchors run on: the one with most anchor time; on Ascend the
--                          anchor's own, of several that take turns
-- anchor_index    BIGINT   number of the anchor on its device, from 0 in time order
-- kernel_id       BIGINT   the kernel
-- start_ns        BIGINT   its start
-- end_ns          BIGINT   its end
-- name            VARCHAR  its name
-- role            VARCHAR  where it stands in its block: begin, inside or end
-- pattern         VARCHAR  the regex that matched; for Ascend attention, the kernel's type; for a
--                          compiled program, the name without numbers, and the category
-- pattern_source  VARCHAR  source of the regex: user, profile, or detected by trying them all
CREATE VIEW anchors AS
SELECT
    k.trace_id, t.rank, k.device, p.series, k.stream, row_number() OVER lane - 1 AS anchor_index,
    k.kernel_id, k.start_ns, k.end_ns, k.name, p.role, p.pattern, p.pattern_source
FROM _seated_kernels AS k
JOIN traces AS t ON t.trace_id = k.trace_id
JOIN _anchor_plans AS p
    ON p.trace_id = k.trace_id
    AND p.series = k.series
    AND p.device = k.device
    AND p.stream IS NOT DISTINCT FROM k.stream
WHERE k.kind <> 'memory' AND list_contains(p.anchor_names, k.name)
WINDOW lane AS (PARTITION BY k.trace_id, k.device ORDER BY k.start_ns, k.kernel_id)
UNION ALL
SELECT
    a.trace_id, a.rank, a.device, '', m.stream, a.stretch, a.kernel_id, m.start_ns, m.end_ns,
    k.name, 'inside', m.type, 'detected'
FROM _ascend_anchors AS a
JOIN _ascend_marks AS m ON m.trace_id = a.trace_id AND m.kernel_id = a.kernel_id
JOIN kernels AS k ON k.trace_id = a.trace_id AND k.kernel_id = a.kernel_id
UNION ALL
SELECT
    a.trace_id, k.rank, a.device, regexp_replace(a.program, '\(\d+\)( backward)?$', ''), k.stream,
    row_number() OVER (PARTITION BY a.trace_id, a.device ORDER BY k.start_ns, a.kernel_id) - 1,
    a.kernel_id, k.start_ns, k.end_ns, k.name, 'inside', a.family, 'detected'
FROM _program_anchors AS a
JOIN kernels AS k ON k.trace_id = a.trace_id AND k.kernel_id = a.kernel_id;
