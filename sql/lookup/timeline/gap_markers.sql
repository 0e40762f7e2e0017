-- One row per kind of operation that does no work of its own: where one ends a gap, what the device
-- had waited for is the first other operation behind it, the payload.
--
-- pattern       VARCHAR  regular expression (RE2) on the name in lower case; the key
-- in_reference  BOOLEAN  the reference's profile summary knows it too
-- comment       VARCHAR  what it is
CREATE TABLE gap_markers (
    pattern VARCHAR PRIMARY KEY,
    in_reference BOOLEAN NOT NULL,
    comment VARCHAR
);
