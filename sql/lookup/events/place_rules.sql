-- One row per rule for facts about a trace from the path of its file: for each fact the match of
-- lowest priority applies. Shipped rows are applied at ingest.
--
-- priority  INTEGER  order of evaluation, lowest first; the key
-- fact      VARCHAR  rank, tp_rank, dp_rank, pp_rank, ep_rank, dcp_rank, phase, run; host: the
--                    file's place among those of its folder is the rank; written: the time of
--                    writing; common: a run named by this folder also gets the name of the folder
--                    above
-- part      VARCHAR  what the pattern is matched against: file (its name), folder (the name of the
--                    folder that holds it) or path (the last six folders and the file, joined by /)
-- pattern   VARCHAR  regular expression (Python), ignoring case
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
