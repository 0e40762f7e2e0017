-- The product of a list of dimensions, 1 if it is empty; NULL beyond 64 bits.
CREATE MACRO _dims_product(dims) AS
TRY_CAST(coalesce(list_product(dims), 1) AS BIGINT);
