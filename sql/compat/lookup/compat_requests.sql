-- One row per scenario of the reference's compute simulator; none is shipped, insert your own.
--
-- request       VARCHAR  name of the scenario; the key
-- model         VARCHAR  model by its name there or an alias
-- batch         BIGINT   sequences
-- seq_len       BIGINT   tokens of each; 1 is a decode step, more are a prefill
-- tp            BIGINT   tensor-parallel degree
-- dp            BIGINT   data-parallel degree, not used in any formula
-- ep            BIGINT   expert-parallel degree
-- gpu           VARCHAR  GPU by its name there or an alias; others give no MFU
-- dtype         VARCHAR  bf16, or another for the FP8 peak
-- measured_ms   DOUBLE   time of a forward pass on a GPU, ms
-- per_layer_ms  DOUBLE   time of a layer, ms; takes precedence over measured_ms
CREATE TABLE compat_requests (
    request VARCHAR PRIMARY KEY,
    model VARCHAR NOT NULL,
    batch BIGINT DEFAULT 1,
    seq_len BIGINT DEFAULT 1,
    tp BIGINT DEFAULT 8,
    dp BIGINT DEFAULT 1,
    ep BIGINT DEFAULT 8,
    gpu VARCHAR DEFAULT 'h20',
    dtype VARCHAR DEFAULT 'bf16',
    measured_ms DOUBLE,
    per_layer_ms DOUBLE
);
