-- The number of elements of a tensor: 1 for a scalar, 0 where there is no tensor.
CREATE MACRO _elements(dims) AS CASE
    WHEN dims IS NULL THEN 0
    WHEN len(dims) = 0 THEN 1
    ELSE list_product(list_transform(dims, lambda d: CAST(d AS DOUBLE)))
END;
