-- A device operation is one row of kernels, and its name has one category.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   operation that breaks the law
-- copies     BIGINT   its rows
CREATE VIEW _kernels_are_unique AS
SELECT trace_id, kernel_id, count(*) AS copies
FROM kernels
GROUP BY trace_id, kernel_id
HAVING count(*) > 1;
