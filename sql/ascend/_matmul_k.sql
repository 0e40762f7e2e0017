-- The inner dimension of a matrix product: in the first matrix beside the result's rows, in the
-- second beside its columns, either of them transposed or not; NULL where no number is both.
CREATE MACRO _matmul_k(a, b, result) AS list_intersect(
    list_concat(
        CASE WHEN a[-2] = result[-2] THEN [a[-1]] ELSE [] END,
        CASE WHEN a[-1] = result[-2] THEN [a[-2]] ELSE [] END
    ),
    list_concat(
        CASE WHEN b[-1] = result[-1] THEN [b[-2]] ELSE [] END,
        CASE WHEN b[-2] = result[-1] THEN [b[-1]] ELSE [] END
    )
)[1];
