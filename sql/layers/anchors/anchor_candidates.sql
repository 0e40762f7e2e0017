-- One row per anchor pattern that occurs on a device, the chosen one among them: what was tried to
-- find layers, and the evidence. An anchor that the user named is taken or none is; the others are
-- here to compare. Of Ascend attention every type of kernel is an anchor, together with the others.
--
-- key: trace_id, device, series?, pattern
--
-- trace_id          VARCHAR  trace
-- rank              INTEGER  rank in the job, NULL if unknown
-- device            INTEGER  device
-- series            VARCHAR  model that it belongs to where the trace has several, else empty
-- stream            BIGINT   stream with most time in such kernels
-- pattern           VARCHAR  regex over kernel names; a name itself where kernels suggest it
-- pattern_source    VARCHAR  user, profile, or detected: a known pattern or the kernels suggest it
-- role              VARCHAR  where such a kernel stands in its block: begin, inside or end
-- occurrences       BIGINT   kernels that match
-- blocks_per_layer  INTEGER  of them in one layer
-- num_layers        INTEGER  layers of a pass, NULL if unknown
-- remainder         BIGINT   occurrences that whole passes leave over; 0 when they are explained
-- irregularity      DOUBLE   standard deviation over mean of the time from one to the next
-- score             DOUBLE   0 to 1: explained count 0.5, regularity up to 0.3, begin 0.2 before
--                            inside 0.1 before end
-- chosen            BOOLEAN  the layers of the device come from it, where no module scopes or
--                            annotations give them
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
