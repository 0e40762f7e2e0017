-- One row per term or symbol that a model report defines.
--
-- term             VARCHAR  term; with the kind the key
-- kind             VARCHAR  term, symbol or byte_part
-- place            INTEGER  order among those of its kind
-- definition       VARCHAR  what it is
-- seed_definition  VARCHAR  what it is by the formulas of the reference report; NULL: the same
-- unit             VARCHAR  unit
-- used_in          VARCHAR  sections that use it; NULL for symbols
CREATE TABLE report_terms (
    term VARCHAR,
    kind VARCHAR,
    place INTEGER NOT NULL,
    definition VARCHAR NOT NULL,
    seed_definition VARCHAR,
    unit VARCHAR NOT NULL,
    used_in VARCHAR,
    PRIMARY KEY (kind, term)
);
