-- The inner dimension of products of two factors, whatever order their elements lie in:
-- (batch x m x k) x (batch x k x n) = batch x (batch x m x n) x k x k.
CREATE MACRO _template_inner(a, b, result, batch) AS
round(sqrt(list_product(a) * list_product(b) / nullif(batch * list_product(result), 0)));
