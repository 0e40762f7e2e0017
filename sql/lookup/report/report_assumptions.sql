-- One row per assumption behind a model report.
--
-- assumption  VARCHAR  name; with the formulas the key
-- formulas    VARCHAR  set of formulas that it belongs to; both: any set
-- place       INTEGER  order
-- what        VARCHAR  what is assumed
-- source      VARCHAR  its source, or its effect on the figures
CREATE TABLE report_assumptions (
    assumption VARCHAR,
    formulas VARCHAR,
    place INTEGER NOT NULL,
    what VARCHAR NOT NULL,
    source VARCHAR,
    PRIMARY KEY (formulas, assumption)
);
