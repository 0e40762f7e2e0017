-- One row per name of a type in latency tables that is not in the table dtypes.
--
-- name     VARCHAR  as the tables have it, in lower case; the key
-- dtype    VARCHAR  type it computes in
-- comment  VARCHAR  what it stands for
CREATE TABLE latency_types (
    name VARCHAR PRIMARY KEY,
    dtype VARCHAR NOT NULL,
    comment VARCHAR NOT NULL
);
