-- The product of some dimensions, 1 of none.
CREATE MACRO _dims_product(dims) AS
CAST(coalesce(list_product(dims), 1) AS BIGINT);
