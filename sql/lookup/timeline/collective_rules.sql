-- One row per rule for which collective a name means; the match of lowest priority applies. The
-- first words that any rule knows decide: what the framework calls it, then what the compiler does,
-- then the name of the kernel.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the name in lower case contains
-- kind      VARCHAR  kind of collective, a key of collective_formulas
-- comment   VARCHAR  who writes such a name, with one it catches
CREATE TABLE collective_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    comment VARCHAR
);
