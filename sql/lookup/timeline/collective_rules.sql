-- One row per rule for which collective a name means; the match of lowest priority applies. The
-- first text that any rule matches decides: the framework's name, then the compiler's, then the
-- kernel's.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the name in lower case contains
-- kind      VARCHAR  kind of collective, a key of collective_formulas
-- comment   VARCHAR  where such a name comes from, with an example
CREATE TABLE collective_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    comment VARCHAR
);
