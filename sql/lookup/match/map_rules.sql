-- One row per way to find the operator that a kernel belongs to.
--
-- map_rule    VARCHAR  name; the key
-- place       INTEGER  order: the first that succeeds counts
-- confidence  DOUBLE   how far to trust it, from 0 to 1, as we judge; NULL: no operator
-- comment     VARCHAR  what it goes by
CREATE TABLE map_rules (
    map_rule VARCHAR PRIMARY KEY,
    place INTEGER NOT NULL,
    confidence DOUBLE,
    comment VARCHAR
);
