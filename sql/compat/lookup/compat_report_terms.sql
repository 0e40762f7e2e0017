-- One row per term or symbol with a different meaning in the formulas of the reference report.
--
-- term        VARCHAR  term of report_terms; with the kind the key
-- kind        VARCHAR  its kind there
-- definition  VARCHAR  what it is
CREATE TABLE compat_report_terms (
    term VARCHAR,
    kind VARCHAR,
    definition VARCHAR NOT NULL,
    PRIMARY KEY (kind, term)
);
