-- One row per rule of the reference report's formulas for a kind of module.
--
-- place          INTEGER  order; the key
-- module         VARCHAR  kind of module
-- phases         VARCHAR  phases that it applies to
-- shape          VARCHAR  shapes of its input and output
-- formula_flop   VARCHAR  FLOP
-- formula_bytes  VARCHAR  bytes in memory
-- note           VARCHAR  remark
CREATE TABLE compat_report_formulas (
    place INTEGER PRIMARY KEY,
    module VARCHAR NOT NULL,
    phases VARCHAR NOT NULL,
    shape VARCHAR NOT NULL,
    formula_flop VARCHAR NOT NULL,
    formula_bytes VARCHAR NOT NULL,
    note VARCHAR
);
