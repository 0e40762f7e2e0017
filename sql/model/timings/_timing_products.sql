-- One row per matrix product of a measured layer and operator in it, including products that
-- engines fuse from several operators.
-- request  VARCHAR  scenario
-- product  VARCHAR  operator, or the product made of several
-- n        BIGINT   columns of its result on one rank
-- k        BIGINT   inner dimension on one rank
-- op_seq   INTEGER  operator
CREATE VIEW _timing_products AS
SELECT request, op AS product, n, k, op_seq
FROM timing_template
WHERE is_measured AND n > 0 AND k > 0
UNION ALL
SELECT request, fused_op, CAST(sum(n) OVER made AS BIGINT), k, op_seq
FROM timing_template
WHERE is_measured AND n > 0 AND k > 0 AND fused_op IS NOT NULL
WINDOW made AS (PARTITION BY request, fused_op, k)
QUALIFY count(*) OVER made > 1;
