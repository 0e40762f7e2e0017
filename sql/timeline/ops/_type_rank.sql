-- The category of a mask of type_promotions: 0 bool, 1 integer, 2 with a fraction, 3 complex; -1
-- for no type.
CREATE MACRO _type_rank(mask) AS
CASE
    WHEN mask & 4096 > 0 THEN 3
    WHEN mask & 11776 > 0 THEN 2
    WHEN mask & 502 > 0 THEN 1
    WHEN mask > 0 THEN 0
    ELSE -1
END;
