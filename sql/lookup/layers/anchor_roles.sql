-- One row per kernel category: the part an anchor kernel of it plays in a layer, where only its
-- name was given.
--
-- category          VARCHAR  kernel category; the key
-- role              VARCHAR  begin, inside or end: where in its block the anchor stands
-- blocks_per_layer  INTEGER  anchors in one layer
-- comment           VARCHAR  why
CREATE TABLE anchor_roles (
    category VARCHAR PRIMARY KEY,
    role VARCHAR NOT NULL,
    blocks_per_layer INTEGER NOT NULL,
    comment VARCHAR
);
