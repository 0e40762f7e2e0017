-- One row per optimisation candidate of the reference's profile summary.
--
-- place        INTEGER  order of evaluation; the key
-- candidate    VARCHAR  its id
-- title        VARCHAR  its title
-- threshold    DOUBLE   value from which it is made
-- alternative  DOUBLE   second value from which it is made as well
-- suggestions  VARCHAR  what to try, separated by bars
CREATE TABLE compat_candidate_rules (
    place INTEGER PRIMARY KEY,
    candidate VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    threshold DOUBLE,
    alternative DOUBLE,
    suggestions VARCHAR NOT NULL
);
