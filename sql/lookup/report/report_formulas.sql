-- One row per rule that a model report states for a kind of module.
--
-- formulas       VARCHAR  set of formulas: physical
-- place          INTEGER  order; with the formulas the key
-- module         VARCHAR  kind of module
-- phases         VARCHAR  phases that it applies to
-- shape          VARCHAR  shapes of its input and output
-- formula_flop   VARCHAR  FLOP
-- formula_bytes  VARCHAR  bytes in memory
-- note           VARCHAR  remark
CREATE TABLE report_formulas (
    formulas VARCHAR,
    place INTEGER,
    module VARCHAR NOT NULL,
    phases VARCHAR NOT NULL,
    shape VARCHAR NOT NULL,
    formula_flop VARCHAR NOT NULL,
    formula_bytes VARCHAR NOT NULL,
    note VARCHAR,
    PRIMARY KEY (formulas, place)
);
