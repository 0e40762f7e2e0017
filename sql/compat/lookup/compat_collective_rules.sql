-- One row per text that makes the reference's profile summary call a communication operation a
-- collective of a kind; the match of lowest priority applies.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the name in lower case contains
-- kind      VARCHAR  kind of collective
CREATE TABLE compat_collective_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    kind VARCHAR NOT NULL
);
