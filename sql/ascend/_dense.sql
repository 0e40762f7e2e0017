-- The dimensions of a tensor as one thinks of it: of a matrix that is stored in blocks (FRACTAL_NZ:
-- columns of blocks, rows of blocks, rows and columns in a block) its two dimensions, the second
-- first.
CREATE MACRO _dense(dims, format) AS CASE
    WHEN contains(upper(format), 'FRACTAL_NZ') AND len(dims) >= 4
        THEN list_concat(dims[1:len(dims) - 4], [dims[-4] * dims[-1], dims[-3] * dims[-2]])
    ELSE dims
END;
