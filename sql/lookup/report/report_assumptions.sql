-- One row per assumption behind a model report.
--
-- assumption  VARCHAR  name; with the formulas the key
-- formulas    VARCHAR  set of formulas that it is of, or both: of any
-- place       INTEGER  order
-- what        VARCHAR  what is assumed
-- source      VARCHAR  where it is from, or what it does to the figures
CREATE TABLE report_assumptions (
    assumption VARCHAR,
    formulas VARCHAR,
    place INTEGER NOT NULL,
    what VARCHAR NOT NULL,
    source VARCHAR,
    PRIMARY KEY (formulas, assumption)
);
