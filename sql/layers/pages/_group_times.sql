-- One row per pass and group of kernel categories, and one per trace and group: how long the
-- kernels of the group ran in layers.
-- trace_id        VARCHAR  trace
-- pass_id         BIGINT   pass; NULL for all passes together
-- category_group  VARCHAR  group of kernel categories
-- sum_us          DOUBLE   sum of the durations of its kernels, over all devices and layers
CREATE VIEW _group_times AS
SELECT trace_id, pass_id, category_group, sum(sum_us) AS sum_us
FROM layer_categories
GROUP BY GROUPING SETS ((trace_id, pass_id, category_group), (trace_id, category_group));
