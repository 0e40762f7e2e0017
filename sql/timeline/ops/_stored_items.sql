-- The elements of an input that lie in memory, by its dimensions and which of them repeat the same
-- ones; all if that is NULL.
CREATE MACRO _stored_items(dims, repeats) AS
_dims_product(list_transform(dims, LAMBDA size, d: CASE WHEN repeats[d] THEN 1 ELSE size END));
