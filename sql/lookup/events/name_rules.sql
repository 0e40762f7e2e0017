-- One row per replacement that makes a kernel name readable; all are applied, in order of priority.
--
-- priority     INTEGER  order of application, lowest first; the key
-- pattern      VARCHAR  regular expression (RE2), every occurrence of which is replaced
-- replacement  VARCHAR  replacement; \1 is the first group
-- comment      VARCHAR  why the rule is there
CREATE TABLE name_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    replacement VARCHAR,
    comment VARCHAR
);
