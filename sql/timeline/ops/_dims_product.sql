-- The product of some dimensions, 1 of none; NULL beyond 64 bits.
CREATE MACRO _dims_product(dims) AS
TRY_CAST(coalesce(list_product(dims), 1) AS BIGINT);
