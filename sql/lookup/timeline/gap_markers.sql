-- One row per kind of operation that does no work of its own: if one ends a gap, the device had
-- waited for the first other operation after it, the payload.
--
-- pattern       VARCHAR  regular expression (RE2) on the name in lower case; the key
-- in_reference  BOOLEAN  the reference's profile summary has it too
-- comment       VARCHAR  what it is
CREATE TABLE gap_markers (
    pattern VARCHAR PRIMARY KEY,
    in_reference BOOLEAN NOT NULL,
    comment VARCHAR
);
