-- One row per comparison, side of it (before or after) and kind of work: the work of the other side
-- that it is compared with.
--
-- Work is matched from the finest level to the coarsest (comparison_levels); each level sees only
-- what earlier ones left unmatched. Kinds that match share a group, which has one place in the
-- waterfall, the baseline's, so that an operator whose new kernel belongs to another category does
-- not show up as removed here and added there.
--
-- stored: in memory
--
-- key: side, baseline, is_after, cost_id
--
-- side          VARCHAR  side
-- baseline      VARCHAR  side that it is compared with
-- is_after      BOOLEAN  the row is the side's, else the baseline's
-- cost_id       BIGINT   kind of work, see _side_works
-- group_id      UBIGINT  kinds that are compared with each other; no key of work elsewhere: it may
--                        differ in an answer with other sides
-- matched_by    VARCHAR  what both sides have in common, see comparison_levels; nothing if the
--                        other side has no such work
-- part          VARCHAR  part of the step
-- category      VARCHAR  category that the group is in
-- module        VARCHAR  module that it is in; empty if unknown
-- operator      VARCHAR  operator, else kernel; the category for several matched only by it; empty
--                        for idle time
-- shape         VARCHAR  shapes; empty if unknown
-- kernel_name   VARCHAR  kernel of this row
-- own_operator  VARCHAR  operator of this row
-- step_ns       BIGINT   time in a step, ns
-- calls         DOUBLE   calls in a step
-- flop          DOUBLE   floating-point operations in a step, NULL unless all are known
-- bytes         DOUBLE   bytes in a step, NULL unless all are known
-- operator_calls  DOUBLE  calls of operators in a step, NULL unless all are known, see step_costs
CREATE VIEW comparison_works AS
WITH RECURSIVE works AS MATERIALIZED (
    SELECT
        side, cost_id, part, category, module, operator, shape, kernel_name, step_ns, calls, flop,
        bytes, operator_calls,
        -- In the order of comparison_levels.
        [
            if('' IN (module, operator, shape), NULL, hash(part, module, operator, shape)),
            if('' IN (module, operator), NULL, hash(part, module, operator)),
            if('' IN (operator, shape), NULL, hash(part, operator, shape)),
            if(operator = '', NULL, hash(part, operator)),
            if('' IN (kernel_name, shape), NULL, hash(part, kernel_name, shape)),
            if(place = '', NULL, hash(part, place, kernel_name)),
            if(place = '', NULL, hash(part, place)),
            if(kernel_name = '', NULL, hash(part, kernel_name)),
            if('' IN (module, kernel_name), NULL, hash(part, module, category)),
            hash(part, category)
        ] AS keys
    FROM _side_works
),
sought AS (
    -- One level after the other, over what is not matched yet.
    SELECT
        pairs.side, baseline, works.side = pairs.side AS is_after, cost_id, keys,
        0 AS level, FALSE AS is_matched
    FROM _comparison_pairs AS pairs
    JOIN works ON works.side IN (pairs.side, pairs.baseline)
    UNION ALL
    SELECT
        side, baseline, is_after, cost_id, keys, level + 1,
        keys[level + 1] IS NOT NULL AND min(is_after) OVER of_key <> max(is_after) OVER of_key
    FROM sought
    WHERE NOT is_matched AND level < len(keys)
    WINDOW of_key AS (PARTITION BY side, baseline, keys[level + 1])
),
found AS (
    SELECT
        sought.side, baseline, is_after, works.cost_id, works.part, works.category, works.module,
        works.operator, works.shape, works.kernel_name, works.step_ns, works.calls, works.flop,
        works.bytes, works.operator_calls, if(is_matched, level, NULL) AS level,
        if(
            is_matched, hash(level, works.keys[level]), hash(is_after, works.cost_id)
        ) AS group_id
    FROM sought
    JOIN works ON works.side = if(is_after, sought.side, baseline)
        AND works.cost_id = sought.cost_id
    WHERE is_matched OR level = len(sought.keys)
),
placed AS (
    SELECT
        side, baseline, group_id,
        arg_max(
            {
                'category': category,
                'module': if(coalesce(levels.operators, TRUE), module, ''),
                'operator': CASE
                    WHEN NOT levels.operators THEN format('({})', category)
                    WHEN operator = '' THEN kernel_name
                    ELSE operator
                END,
                'shape': if(coalesce(levels.operators, TRUE), shape, '')
            },
            (NOT is_after, step_ns, -cost_id)
        ) AS place
    FROM found
    LEFT JOIN comparison_levels AS levels ON levels.level = found.level
    GROUP BY side, baseline, group_id
)
SELECT
    found.side, found.baseline, is_after, cost_id, found.group_id,
    coalesce(levels.matched_by, 'nothing') AS matched_by, part, place.category, place.module,
    place.operator, place.shape, found.kernel_name,
    found.operator AS own_operator, step_ns, calls, flop, bytes,
    operator_calls
FROM found
JOIN placed
    ON placed.side = found.side AND placed.baseline = found.baseline
    AND placed.group_id = found.group_id
LEFT JOIN comparison_levels AS levels ON levels.level = found.level;
