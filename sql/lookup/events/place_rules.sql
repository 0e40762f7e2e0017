-- One row per rule for what the place of a trace's file says of the trace: of a fact the match of
-- lowest priority applies. Shipped rows are applied when a trace comes in.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- fact      VARCHAR  rank, tp_rank, dp_rank, pp_rank, ep_rank, dcp_rank, phase, run; host: the
--                    file's place among those of its folder is the rank; written: when it was;
--                    common: a run that is this folder is named with the folder above
-- part      VARCHAR  what the pattern is tried on: file (its name), folder (the name of the folder
--                    that holds it) or path (the last six folders and the file, with / between)
-- pattern   VARCHAR  regular expression (Python), upper or lower case
-- value     VARCHAR  value, \1 is the text of the first group; NULL: the first group
-- comment   VARCHAR  who writes such names, then an example
CREATE TABLE place_rules (
    priority INTEGER PRIMARY KEY,
    fact VARCHAR NOT NULL,
    part VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    value VARCHAR,
    comment VARCHAR
);
