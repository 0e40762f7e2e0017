-- One row per operator that engines may run as several products of equal size.
--
-- op       VARCHAR  operator, of the relation operators; the key
-- parts    BIGINT   products
-- comment  VARCHAR  the parts
CREATE TABLE operator_parts (
    op VARCHAR PRIMARY KEY,
    parts BIGINT NOT NULL,
    comment VARCHAR
);
