-- One row per trace, rank, device and anchor pattern that occurs there: on which stream, how often.
-- Patterns meet each distinct kernel name once, never the events. The stream is the one that spends
-- most time in anchors. Copies and fills of memory are no anchors.
-- trace_id          VARCHAR    trace
-- rank              INTEGER    rank in the job, NULL when unknown
-- device            INTEGER    device
-- stream            BIGINT     stream with most anchor time
-- preference        INTEGER    0 is tried first
-- pattern           VARCHAR    the pattern
-- pattern_source    VARCHAR    user, profile or detected
-- anchor_names      VARCHAR[]  distinct kernel names that match on that stream
-- anchor_count      BIGINT     their occurrences on that stream
-- role              VARCHAR    begin, inside or end of its block
-- blocks_per_layer  INTEGER    anchors per layer, as given or usual for the category
-- is_fixed          BOOLEAN    that number is given, no other may be tried
-- half_labels       VARCHAR[]  label of each block of a layer, NULL: the usual ones
-- num_layers        INTEGER    layers of the model, NULL when unknown
-- default_layers    INTEGER    layers the profile supposes
CREATE VIEW _anchor_candidates AS
WITH names AS (
    SELECT
        trace_id, rank, device, stream, name, any_value(category) AS category,
        count(*) AS kernel_count, sum(dur_ns) AS sum_ns
    FROM kernels
    WHERE kind <> 'memory'
    GROUP BY trace_id, rank, device, stream, name
),
trace_names AS (
    SELECT DISTINCT trace_id, name FROM names
),
matches AS (
    SELECT r.trace_id, r.preference, n.name
    FROM _anchor_rules AS r
    JOIN trace_names AS n ON n.trace_id = r.trace_id
    WHERE CASE
        WHEN r.is_plain THEN contains(n.name, r.pattern) ELSE regexp_matches(n.name, r.pattern)
    END
),
streams AS (
    SELECT
        n.trace_id, n.rank, n.device, n.stream, m.preference,
        list(n.name ORDER BY n.name) AS anchor_names, sum(n.kernel_count) AS anchor_count,
        arg_max(n.category, (n.kernel_count, n.category)) AS category,
        row_number() OVER (
            PARTITION BY n.trace_id, n.rank, n.device, m.preference
            ORDER BY sum(n.sum_ns) DESC, sum(n.kernel_count) DESC, n.stream
        ) AS stream_rank
    FROM names AS n
    JOIN matches AS m ON m.trace_id = n.trace_id AND m.name = n.name
    GROUP BY n.trace_id, n.rank, n.device, n.stream, m.preference
)
SELECT
    s.trace_id, s.rank, s.device, s.stream, s.preference, r.pattern, r.pattern_source,
    s.anchor_names, CAST(s.anchor_count AS BIGINT) AS anchor_count,
    coalesce(r.role, a.role, 'begin') AS role,
    coalesce(r.blocks_per_layer, a.blocks_per_layer, 1) AS blocks_per_layer,
    r.blocks_per_layer IS NOT NULL AS is_fixed, r.half_labels, r.num_layers, r.default_layers
FROM streams AS s
JOIN _anchor_rules AS r ON r.trace_id = s.trace_id AND r.preference = s.preference
LEFT JOIN anchor_roles AS a ON a.category = s.category
WHERE s.stream_rank = 1;
