-- One row per term or symbol that a model report defines.
--
-- term        VARCHAR  term; with the kind the key
-- kind        VARCHAR  term, symbol or byte_part
-- place       INTEGER  order among those of its kind
-- definition  VARCHAR  what it is
-- unit        VARCHAR  unit
-- used_in     VARCHAR  sections that use it; NULL for symbols
CREATE TABLE report_terms (
    term VARCHAR,
    kind VARCHAR,
    place INTEGER NOT NULL,
    definition VARCHAR NOT NULL,
    unit VARCHAR NOT NULL,
    used_in VARCHAR,
    PRIMARY KEY (kind, term)
);
