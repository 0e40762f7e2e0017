-- One row per trace and anchor pattern worth trying, in order of preference: the user's, then those
-- of the trace's profile, or of all profiles if that is unknown.
CREATE VIEW _anchor_rules AS
WITH given AS (
    SELECT
        trace_id, 0 AS preference, anchor AS pattern, 'user' AS pattern_source,
        anchor_role AS role, blocks_per_layer, CAST(NULL AS VARCHAR) AS half_labels,
        num_layers, CAST(NULL AS INTEGER) AS default_layers
    FROM _layer_settings
    WHERE anchor IS NOT NULL
),
profiled AS (
    SELECT
        s.trace_id, row_number() OVER (PARTITION BY s.trace_id ORDER BY p.priority),
        p.anchor_pattern,
        CASE WHEN s.profile IS NULL OR s.anchor IS NOT NULL THEN 'detected' ELSE 'profile' END,
        CASE WHEN s.anchor IS NULL THEN coalesce(s.anchor_role, p.role) ELSE p.role END,
        CASE
            WHEN s.anchor IS NULL THEN coalesce(s.blocks_per_layer, p.blocks_per_layer)
            ELSE p.blocks_per_layer
        END, p.half_labels,
        s.num_layers, p.default_layers
    FROM _layer_settings AS s
    JOIN profiles AS p ON p.profile = s.profile OR s.profile IS NULL
    LEFT JOIN (SELECT DISTINCT trace_id FROM _pass_rhythms) AS r ON r.trace_id = s.trace_id
    WHERE
        p.anchor_pattern IS NOT NULL
        -- Without a profile, attention or the number of layers must be known to check patterns.
        AND (p.profile = s.profile OR s.num_layers IS NOT NULL OR r.trace_id IS NOT NULL)
),
rules AS (
    SELECT * FROM given
    UNION ALL
    SELECT * FROM profiled
)
SELECT
    trace_id, CAST(preference AS INTEGER) AS preference, pattern,
    regexp_full_match(pattern, '[A-Za-z0-9_:, ]+') AS is_plain, pattern_source, role,
    blocks_per_layer, string_split(half_labels, ',') AS half_labels, num_layers, default_layers
FROM rules;

-- One row per trace, rank, device and anchor pattern that occurs there: its stream and count.
-- Patterns are matched once per distinct kernel name, never on events. The stream is the one that
-- spends the most time in anchors. Copies and fills of memory are not anchors. Candidates from the
-- kernels themselves come last: each norm, with its variants, and the kernels that open the
-- attention. Variants of a kernel share a family; the norms of queries and keys, another instance
-- of the same template, have their own.
--
-- stored: per trace
--
-- trace_id          VARCHAR    trace
-- series            VARCHAR    the model, empty if the trace has only one
-- device            INTEGER    device
-- stream            BIGINT     stream with most anchor time
-- preference        INTEGER    lowest is tried first
-- pattern           VARCHAR    the pattern
-- pattern_source    VARCHAR    user, profile or detected
-- anchor_names      VARCHAR[]  distinct kernel names that match on that stream
-- anchor_count      BIGINT     their occurrences on that stream
-- role              VARCHAR    begin, inside or end of its block
-- blocks_per_layer  INTEGER    anchors per layer, as given or usual for the category
-- is_fixed          BOOLEAN    that number is given, so no other is tried
-- half_labels       VARCHAR[]  label of each block of a layer, NULL: the usual ones
-- num_layers        INTEGER    layers of the model, NULL if unknown
-- default_layers    INTEGER    layers that the profile assumes
-- is_inferred       BOOLEAN    of the profile that the model's config points to
-- is_spare          BOOLEAN    only shown: the user named another anchor
CREATE VIEW _anchor_candidates AS
WITH names AS (
    SELECT
        trace_id, series, device, stream, name,
        max_by(category, row(dur_ns, category)) AS category,
        count(*) AS kernel_count, sum(dur_ns) AS sum_ns
    FROM _seated_kernels
    WHERE kind <> 'memory'
    GROUP BY trace_id, series, device, stream, name
),
trace_names AS (
    -- A name that occurs once, as in compiled code, can be an anchor only by its category.
    SELECT
        n.trace_id, n.name, bool_or(r.category IS NOT NULL) OR sum(n.kernel_count) > 1 AS is_likely
    FROM names AS n
    LEFT JOIN anchor_roles AS r ON r.category = n.category
    GROUP BY n.trace_id, n.name
),
norms AS (
    SELECT
        n.trace_id, n.name,
        regexp_replace(n.name, 'fused_add_|Lb[01]E|true|false', '', 'g') AS family
    FROM names AS n
    JOIN anchor_roles AS r ON r.category = n.category AND r.role = 'begin'
    -- Norms are checked against the attention, so none are proposed without it.
    SEMI JOIN _pass_rhythms AS p ON p.trace_id = n.trace_id
    GROUP BY n.trace_id, n.name
),
families AS (
    SELECT
        trace_id,
        CAST(1000 + dense_rank() OVER (PARTITION BY trace_id ORDER BY family) AS INTEGER)
            AS preference,
        first(name) OVER (PARTITION BY trace_id, family ORDER BY name) AS pattern, name,
        'begin' AS role
    FROM norms
    UNION ALL
    SELECT
        trace_id, CAST(2000 AS INTEGER), min(name) OVER (PARTITION BY trace_id), name, 'inside'
    FROM (SELECT DISTINCT trace_id, unnest(attention_names) AS name FROM _pass_rhythms)
),
suggestions AS (
    SELECT
        f.trace_id, f.preference, f.pattern,
        'detected' AS pattern_source, f.role, CAST(NULL AS INTEGER) AS blocks_per_layer,
        CAST(NULL AS VARCHAR[]) AS half_labels, s.num_layers,
        CAST(NULL AS INTEGER) AS default_layers
    FROM families AS f
    JOIN _layer_settings AS s ON s.trace_id = f.trace_id
    GROUP BY f.trace_id, f.preference, f.pattern, f.role, s.num_layers
),
rules AS (
    SELECT * EXCLUDE (is_plain)
    FROM _anchor_rules
    UNION ALL BY NAME
    SELECT *
    FROM suggestions
),
matches AS (
    SELECT r.trace_id, r.preference, n.name
    FROM _anchor_rules AS r
    JOIN trace_names AS n ON n.trace_id = r.trace_id
    -- In this order, since a regular expression from a table is compiled for every name.
    WHERE CASE
        WHEN r.pattern_source = 'detected' AND NOT n.is_likely THEN FALSE
        WHEN r.is_plain THEN contains(n.name, r.pattern)
        ELSE regexp_matches(n.name, r.pattern)
    END
    UNION
    SELECT trace_id, preference, name
    FROM families
),
known AS (
    -- The profile's data for the user's anchor, if its category has no role.
    SELECT
        s.trace_id, arg_min(p.role, p.priority) AS role,
        arg_min(p.blocks_per_layer, p.priority) AS blocks_per_layer
    FROM _layer_settings AS s
    JOIN profiles AS p ON contains(p.anchor_pattern, s.anchor)
    GROUP BY s.trace_id
),
streams AS (
    SELECT
        n.trace_id, n.series, n.device, n.stream, m.preference,
        list(n.name ORDER BY n.name) AS anchor_names, sum(n.kernel_count) AS anchor_count,
        arg_max(n.category, (n.kernel_count, n.category)) AS category,
        row_number() OVER (
            PARTITION BY n.trace_id, n.series, n.device, m.preference
            ORDER BY sum(n.sum_ns) DESC, sum(n.kernel_count) DESC, n.stream
        ) AS stream_rank
    FROM names AS n
    JOIN matches AS m ON m.trace_id = n.trace_id AND m.name = n.name
    GROUP BY n.trace_id, n.series, n.device, n.stream, m.preference
)
SELECT
    s.trace_id, s.series, s.device, s.stream, s.preference, r.pattern, r.pattern_source,
    s.anchor_names, CAST(s.anchor_count AS BIGINT) AS anchor_count,
    coalesce(r.role, a.role, p.role, 'begin') AS role,
    coalesce(r.blocks_per_layer, a.blocks_per_layer, p.blocks_per_layer, 1) AS blocks_per_layer,
    r.blocks_per_layer IS NOT NULL AS is_fixed, r.half_labels, r.num_layers, r.default_layers,
    r.pattern_source = 'profile' AND t.is_inferred AS is_inferred,
    r.pattern_source <> 'user' AND t.anchor IS NOT NULL AS is_spare
FROM streams AS s
JOIN rules AS r ON r.trace_id = s.trace_id AND r.preference = s.preference
JOIN _layer_settings AS t ON t.trace_id = s.trace_id
LEFT JOIN anchor_roles AS a ON a.category = s.category
LEFT JOIN known AS p ON p.trace_id = s.trace_id AND r.pattern_source = 'user'
WHERE s.stream_rank = 1;
