-- One row per category of kernels in the star; row 0 stands for an absent kernel.
--
-- key: category_key
--
-- category_key    INTEGER  key, from 1 in the order of the categories; 0 if unknown
-- category        VARCHAR  category of the kernel, see kernels
-- category_group  VARCHAR  group it is counted in where a chart shows few groups; other if it has
--                          none
-- kind            VARCHAR  compute, communication or memory
CREATE VIEW dim_category AS
WITH used AS (
    SELECT DISTINCT category, kind FROM kernels
)
SELECT
    CAST(row_number() OVER (ORDER BY category, kind) AS INTEGER) AS category_key, category,
    coalesce(category_groups.category_group, 'other') AS category_group, kind
FROM used
LEFT JOIN category_groups USING (category)
UNION ALL
SELECT 0, '(unknown)', 'other', '(unknown)';
