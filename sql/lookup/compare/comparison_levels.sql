-- One row per way in which the work of two sides of a comparison is matched, the finest first.
--
-- level       INTEGER  order in which they are tried; the key
-- matched_by  VARCHAR  what both sides have in common
-- operators   BOOLEAN  a match is one operator, or kernel, on both sides, not many of a kind
-- comment     VARCHAR  why it implies that the work is the same
CREATE TABLE comparison_levels (
    level INTEGER PRIMARY KEY,
    matched_by VARCHAR NOT NULL,
    operators BOOLEAN NOT NULL,
    comment VARCHAR
);
