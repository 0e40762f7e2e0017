-- One row per family that the reference's profile summary gives operations, in its order.
-- place    INTEGER  order of evaluation; the key
-- family   VARCHAR  family
-- pattern  VARCHAR  regular expression (RE2) that the lower-cased canonical name contains
-- comment  VARCHAR  what it matches, and what it misses
CREATE TABLE compat_family_rules (
    place INTEGER PRIMARY KEY,
    family VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    comment VARCHAR
);
