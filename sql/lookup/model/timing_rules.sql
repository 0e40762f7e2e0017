-- One row per kernel category: which operators of a layer its measured time belongs to.
--
-- Only where the operators are certain: time is never spread over others by their FLOP. A category
-- that is the name of an operator needs no row.
--
-- category   VARCHAR    kernel category, as in category_rules; the key
-- fate       VARCHAR    operators: those of the list, as one group; product: a matrix product,
--                       found by its shapes; overhead: none; unknown: undecided
-- operators  VARCHAR[]  names in the relation operators; the layer has some of them, or none
-- subclass   VARCHAR    kind of overhead
-- dtype      VARCHAR    type that such kernels multiply in; NULL if the category does not determine
--                       it
-- comment    VARCHAR    why
CREATE TABLE timing_rules (
    category VARCHAR PRIMARY KEY,
    fate VARCHAR NOT NULL,
    operators VARCHAR[],
    subclass VARCHAR,
    dtype VARCHAR,
    comment VARCHAR
);
