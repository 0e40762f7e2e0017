-- One row per name of a type in latency tables that is not in the table dtypes.
--
-- name     VARCHAR  name in the tables, in lower case; the key
-- dtype    VARCHAR  type it computes in
-- comment  VARCHAR  its meaning
CREATE TABLE latency_types (
    name VARCHAR PRIMARY KEY,
    dtype VARCHAR NOT NULL,
    comment VARCHAR NOT NULL
);
