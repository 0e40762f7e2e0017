-- The mask, as in type_promotions, of operands of which the first decide unless the others are of
-- a higher category; a fraction with a complex number is a complex number of its own width.
CREATE MACRO _combined_type(first, others) AS
CASE
    WHEN _type_rank(first) >= _type_rank(others) THEN first
    WHEN _type_rank(first) = 2 THEN first | 4096
    ELSE others
END;
