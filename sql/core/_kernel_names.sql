-- One row per trace and distinct label of a device operation: its category and the name to show.
--
-- Rules are tried here, once per distinct name, and never on events. The two functions are made
-- from the tables category_rules and name_rules when the lake is opened.
--
-- trace_id      VARCHAR  trace
-- called        VARCHAR  full name, for Ascend the op type
-- core_group    VARCHAR  for Ascend, the group of the core
-- display_name  VARCHAR  name with what does not tell kernels apart taken out
-- category      VARCHAR  category, other when no rule fits
-- kind          VARCHAR  compute, communication or memory
CREATE VIEW _kernel_names AS
WITH calls AS (
    SELECT DISTINCT trace_id, called, op_category, core_group FROM _operations
),
tried AS (
    SELECT
        trace_id, called, op_category, core_group, traces.profile,
        min(_category_rule(lower(called), traces.profile)) AS priority
    FROM calls
    JOIN traces USING (trace_id)
    GROUP BY trace_id, called, op_category, core_group, traces.profile
),
ruled AS (
    -- An op type may be spelled like a driver's fill or copy, which no core runs: there the name
    -- that its kernels have tells more.
    SELECT
        trace_id, called, op_category, core_group,
        CASE
            WHEN core_group <> 'memory' AND category_rules.kind = 'memory'
                THEN _category_rule('aclnnop_op_' || lower(called), tried.profile)
            ELSE priority
        END AS priority
    FROM tried
    LEFT JOIN category_rules USING (priority)
)
SELECT
    trace_id,
    called,
    core_group,
    if(core_group IS NULL, _display_name(called), called) AS display_name,
    -- What the units for collectives and for copies run is just that, whatever its name.
    CASE
        WHEN core_group = 'memory' AND category_rules.kind IS DISTINCT FROM 'memory' THEN 'memcpy'
        WHEN core_group = 'communication' AND category_rules.kind IS DISTINCT FROM 'communication'
            THEN 'communication'
        ELSE coalesce(category_rules.category, ascend_op_categories.category, 'other')
    END AS category,
    CASE
        WHEN core_group IN ('communication', 'memory') THEN core_group
        ELSE coalesce(category_rules.kind, ascend_op_categories.kind, 'compute')
    END AS kind
FROM ruled
LEFT JOIN category_rules USING (priority)
LEFT JOIN ascend_op_categories USING (op_category);
