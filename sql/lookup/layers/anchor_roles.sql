-- One row per kernel category: the role of an anchor kernel of it in a layer, if only its name was
-- given.
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
