-- The number of products of a template of the compiler whose result has a shape.
CREATE MACRO _template_batch(rule, result) AS
CASE WHEN rule = 'batched_template' THEN coalesce(list_product(result[:-3]), 1) ELSE 1 END;
