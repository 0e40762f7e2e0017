-- One row per section of a model report that opens with other prose where its figures are by the
-- formulas of the reference report.
--
-- section  VARCHAR  section of report_sections; the key
-- prose    VARCHAR  opening, as there
CREATE TABLE compat_report_sections (
    section VARCHAR PRIMARY KEY,
    prose VARCHAR NOT NULL
);
