-- One row per form of name that an engine or a profiler gives to one step of its work.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- pattern   VARCHAR  regular expression (RE2) that the annotation's name contains
-- stage     VARCHAR  prefill, decode or mixed, NULL where the name does not say
-- comment   VARCHAR  where it was seen, with a name it catches
CREATE TABLE step_rules (
    priority INTEGER PRIMARY KEY,
    pattern VARCHAR NOT NULL,
    stage VARCHAR,
    comment VARCHAR
);
