-- One row per GPU of the reference's compute simulator; the table hardware is the one to use.
--
-- chip         VARCHAR    its name there; the key
-- name         VARCHAR    display name
-- aliases      VARCHAR[]  names that it accepts for the GPU, in lower case
-- bf16_tflops  DOUBLE     dense peak in BF16, TFLOP/s
-- fp8_tflops   DOUBLE     dense peak in FP8, TFLOP/s
-- fp4_tflops   DOUBLE     dense peak in FP4, TFLOP/s; never read there
-- hbm_tbps     DOUBLE     memory bandwidth, TB/s; never read there
-- hbm_gb       DOUBLE     memory, GB; never read there
CREATE TABLE compat_chips (
    chip VARCHAR PRIMARY KEY,
    name VARCHAR,
    aliases VARCHAR[],
    bf16_tflops DOUBLE,
    fp8_tflops DOUBLE,
    fp4_tflops DOUBLE,
    hbm_tbps DOUBLE,
    hbm_gb DOUBLE
);
