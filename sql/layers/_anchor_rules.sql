-- One row per trace and anchor pattern worth trying, in order of preference: the user's, then those
-- of the trace's profile, or of all profiles where nothing points to one.
-- trace_id          VARCHAR    trace
-- preference        INTEGER    lowest is tried first
-- pattern           VARCHAR    RE2 regex over kernel names, case-sensitive
-- is_plain          BOOLEAN    the pattern has no regex operators: substring search will do
-- pattern_source    VARCHAR    user, profile, or detected when no profile is known
-- role              VARCHAR    begin, inside or end of its block; NULL: by the kernels' category
-- blocks_per_layer  INTEGER    anchors per layer; NULL: by the kernels' category
-- half_labels       VARCHAR[]  label of each block of a layer, NULL: the usual ones
-- num_layers        INTEGER    layers of the model, NULL when unknown
-- default_layers    INTEGER    layers the profile supposes, used only when the count bears it out
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
        -- All patterns there are, for nothing: without attention only a count of layers helps.
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
