-- One row per trace and distinct label of a device operation: its category and the name to show.
--
-- Rules are tried here, once per distinct name, and never on events. The two functions are made
-- from the tables category_rules and name_rules when the lake is opened.
--
-- trace_id      VARCHAR  trace
-- called        VARCHAR  the label, as in _operations
-- core_group    VARCHAR  for Ascend, the group of the core
-- display_name  VARCHAR  name to show
-- category      VARCHAR  category, other where no rule fits
-- kind          VARCHAR  compute, communication or memory
CREATE VIEW _kernel_names AS
WITH calls AS (
    SELECT DISTINCT
        trace_id, called, op_category, core_group, traces.profile, lower(called) AS kernel
    FROM _operations
    JOIN traces USING (trace_id)
),
tried AS MATERIALIZED (
    -- The rules are a long expression, planned once per occurrence.
    SELECT kernel, profile, min(_category_rule(kernel, profile)) AS priority
    FROM (
        SELECT kernel, profile FROM calls
        UNION
        SELECT 'aclnnop_op_' || kernel, profile FROM calls WHERE core_group <> 'memory'
    )
    GROUP BY kernel, profile
),
ruled AS (
    -- An op type may be spelled like a driver's fill or copy, which no core runs: then the name of
    -- its kernels decides.
    SELECT
        trace_id, called, op_category, core_group,
        if(
            core_group <> 'memory' AND category_rules.kind = 'memory', of_kernels.priority,
            tried.priority
        ) AS priority
    FROM calls
    JOIN tried
        ON tried.kernel IS NOT DISTINCT FROM calls.kernel
        AND tried.profile IS NOT DISTINCT FROM calls.profile
    LEFT JOIN category_rules ON category_rules.priority = tried.priority
    LEFT JOIN tried AS of_kernels
        ON of_kernels.kernel = 'aclnnop_op_' || calls.kernel
        AND of_kernels.profile IS NOT DISTINCT FROM calls.profile
)
SELECT
    trace_id,
    called,
    core_group,
    if(core_group IS NULL, _display_name(called), called) AS display_name,
    -- Operations on the units for collectives and for copies are just that, whatever their name.
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
