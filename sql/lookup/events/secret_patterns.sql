-- One row per kind of credential that is replaced in whatever is stored of a trace's file: its
-- events, samples, metadata and paths. All rows are applied, in order of priority, when a trace
-- comes in; the shipped rows count. What takes a credential's place is [redacted:<secret>].
--
-- priority  INTEGER  order of application, lowest first
-- secret    VARCHAR  what the credential is, as its replacement calls it; the key
-- literals  VARCHAR  texts with spaces between, one of which every match contains: the pattern is
--                    not tried where none of them is found
-- pattern   VARCHAR  regular expression, in what RE2 and Python's re have in common; what its
--                    groups hold stays. It fits plain text as well as text that JSON writes with
--                    backslashes, and ends on no half of an escape.
-- comment   VARCHAR  whose credential it is
CREATE TABLE secret_patterns (
    priority INTEGER NOT NULL,
    secret VARCHAR PRIMARY KEY,
    literals VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    comment VARCHAR
);
