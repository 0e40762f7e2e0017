-- Which half of a collective that XLA split an operation is by its name: start or done; NULL if it
-- is not split.
CREATE MACRO collective_half(name) AS
CASE
    WHEN regexp_matches(name, '^%?(send|recv)(\.\d+)?$') THEN 'start'
    ELSE nullif(regexp_extract(name, '-(start|done)(?:\.\d+)?$', 1), '')
END;
