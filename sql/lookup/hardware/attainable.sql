-- One row per matrix product measured on an accelerator: the minimum time that a library reached.
--
-- Empty as shipped: a CSV file of this name in the lake's folder reference adds rows.
--
-- hardware    VARCHAR  chip of the table hardware
-- dtype       VARCHAR  type it computes in
-- batch       BIGINT   products
-- m           BIGINT   rows of the result
-- n           BIGINT   columns of it
-- k           BIGINT   inner dimension
-- latency_us  DOUBLE   minimum time, µs
-- source      VARCHAR  library or benchmark that measured it
CREATE TABLE attainable (
    hardware VARCHAR,
    dtype VARCHAR,
    batch BIGINT DEFAULT 1,
    m BIGINT,
    n BIGINT,
    k BIGINT,
    latency_us DOUBLE NOT NULL,
    source VARCHAR,
    PRIMARY KEY (hardware, dtype, batch, m, n, k)
);
