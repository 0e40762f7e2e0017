-- One row per method of finding the operator that a kernel belongs to.
--
-- map_rule    VARCHAR  name; the key
-- place       INTEGER  order: the first that succeeds counts
-- confidence  DOUBLE   how far to trust it, from 0 to 1, our estimate; NULL: no operator
-- comment     VARCHAR  evidence that it uses
CREATE TABLE map_rules (
    map_rule VARCHAR PRIMARY KEY,
    place INTEGER NOT NULL,
    confidence DOUBLE,
    comment VARCHAR
);
