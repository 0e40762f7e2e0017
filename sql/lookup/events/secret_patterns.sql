-- One row per kind of credential that is redacted in all stored data of a trace's file: its events,
-- samples, metadata and paths. All shipped rows are applied at ingest, in order of priority. A
-- credential is replaced by [redacted:<secret>].
--
-- priority  INTEGER  order of application, lowest first
-- secret    VARCHAR  name of the credential, used in its replacement; the key
-- literals  VARCHAR  texts separated by spaces; every match contains one of them: the pattern is
--                    not tried if none is found
-- pattern   VARCHAR  regular expression, in the common subset of RE2 and Python's re; the text of
--                    its groups stays. It matches plain text as well as JSON text with backslash
--                    escapes, and never ends within an escape.
-- comment   VARCHAR  whose credential it is
CREATE TABLE secret_patterns (
    priority INTEGER NOT NULL,
    secret VARCHAR PRIMARY KEY,
    literals VARCHAR NOT NULL,
    pattern VARCHAR NOT NULL,
    comment VARCHAR
);
