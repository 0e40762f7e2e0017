-- One row per anchor pattern that occurs on a device, the chosen one among them: what was tried to
-- find layers, and the evidence. If the user named an anchor, only that one can be chosen; the
-- others are here for comparison. All Ascend attention kernel types are anchors together.
--
-- key: trace_id, device, series?, pattern
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL if unknown
-- device            INTEGER  device
-- series            VARCHAR  model it belongs to if the trace has several, else empty
-- stream            BIGINT   stream with the most time in such kernels
-- pattern           VARCHAR  regex over kernel names; a full name if derived from the kernels
-- pattern_source    VARCHAR  user, profile, or detected: from known patterns or the kernels
--                            themselves
-- role              VARCHAR  where such a kernel stands in its block: begin, inside or end
-- occurrences       BIGINT   kernels that match
-- blocks_per_layer  INTEGER  anchors in one layer
-- num_layers        INTEGER  layers of a pass, NULL if unknown
-- remainder         BIGINT   occurrences that do not fit into whole passes; 0 when they are
--                            explained
-- irregularity      DOUBLE   standard deviation over mean of the time from one to the next
-- score             DOUBLE   0 to 1: explained count 0.5, regularity up to 0.3, begin 0.2 before
--                            inside 0.1 before end
-- chosen            BOOLEAN  the device's layers come from it, unless module scopes or annotations
--                            give them
CREATE VIEW anchor_candidates AS
SELECT
    a.trace_id, t.rank, a.device, a.series, stream, pattern, pattern_source, role,
    anchor_count AS occurrences,
    a.blocks_per_layer, a.num_layers, remainder, irregularity,
    CASE WHEN remainder = 0 THEN 0.5 ELSE 0 END
        + 0.3 * greatest(1 - coalesce(irregularity, 1), 0)
        + CASE role WHEN 'begin' THEN 0.2 WHEN 'inside' THEN 0.1 ELSE 0 END AS score,
    is_chosen AS chosen
FROM _anchor_trials AS a
JOIN traces AS t ON t.trace_id = a.trace_id
UNION ALL
SELECT
    trace_id, rank, device, '', stream, type, 'detected', 'inside', count(*),
    CAST(round(count(*) / nullif(count(*) FILTER (begins_layer), 0)) AS INTEGER),
    any_value(num_layers), 0, stddev_pop(distance_ns) / nullif(avg(distance_ns), 0),
    0.6 + 0.3 * greatest(
        1 - coalesce(stddev_pop(distance_ns) / nullif(avg(distance_ns), 0), 1), 0
    ), TRUE
FROM (
    SELECT
        a.trace_id, a.rank, a.device, m.stream, m.type, a.begins_layer, a.num_layers,
        m.start_ns - lag(m.start_ns) OVER (
            PARTITION BY a.trace_id, a.device, m.type ORDER BY m.start_ns, m.kernel_id
        ) AS distance_ns
    FROM _ascend_anchors AS a
    JOIN _ascend_marks AS m ON m.trace_id = a.trace_id AND m.kernel_id = a.kernel_id
)
GROUP BY trace_id, rank, device, stream, type;
