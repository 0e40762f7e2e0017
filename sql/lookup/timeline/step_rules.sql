-- One row per name pattern that an engine, a profiler or a training program uses for one step of
-- its work.
--
-- priority          INTEGER  order of evaluation, lowest first; the key
-- step_source       VARCHAR  engine step, profiler step or train step, see step_sources; draft step
--                            for a forward pass of a draft model, which is no step
-- pattern           VARCHAR  regular expression (RE2) that the annotation's name contains
-- stage             VARCHAR  prefill, decode or mixed, NULL if the name has none
-- requests_pattern  VARCHAR  regular expression whose group is a number of requests; all its
--                            matches in a name are added up; NULL if names have none
-- tokens_pattern    VARCHAR  the same for the tokens that the step computes
-- comment           VARCHAR  where it was seen, with an example
CREATE TABLE step_rules (
    priority INTEGER PRIMARY KEY,
    step_source VARCHAR NOT NULL DEFAULT 'engine step',
    pattern VARCHAR NOT NULL,
    stage VARCHAR,
    requests_pattern VARCHAR,
    tokens_pattern VARCHAR,
    comment VARCHAR
);
