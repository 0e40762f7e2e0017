-- One row per accelerator: how traces name it, and what it can do. Peaks are dense, never with
-- sparsity.
--
-- hardware            VARCHAR  short name; the key
-- vendor              VARCHAR  nvidia, amd, huawei or google
-- name                VARCHAR  the vendor's name
-- aliases             VARCHAR  other names that users type, separated by spaces
-- device_pattern      VARCHAR  regular expression (RE2) that the lower-cased device name of a trace
--                              contains
-- compute_major       INTEGER  major architecture version that profilers print
-- compute_minor       INTEGER  minor architecture version
-- num_sms             INTEGER  multiprocessors or compute units
-- memory_bytes_min    BIGINT   smallest memory that a trace of it shows, bytes
-- memory_bytes_max    BIGINT   largest memory that a trace of it shows, bytes
-- clock_mhz           INTEGER  highest clock that a trace of it shows, MHz, if it is the only
--                              difference from another part
-- peak_fp64_tflops    DOUBLE   peak of matrix products in FP64, TFLOP/s: of the matrix units where
--                              they have it
-- peak_fp32_tflops    DOUBLE   matrix peak in FP32, TFLOP/s
-- peak_tf32_tflops    DOUBLE   matrix peak in TF32, TFLOP/s
-- peak_bf16_tflops    DOUBLE   matrix peak in BF16, TFLOP/s
-- peak_fp16_tflops    DOUBLE   matrix peak in FP16, TFLOP/s
-- peak_fp8_tflops     DOUBLE   matrix peak in FP8, TFLOP/s
-- peak_fp4_tflops     DOUBLE   matrix peak in FP4, TFLOP/s
-- peak_int8_tops      DOUBLE   matrix peak in INT8, TOP/s
-- vector_fp32_tflops  DOUBLE   peak outside the matrix units in FP32, TFLOP/s
-- hbm_gbps            DOUBLE   memory bandwidth, GB/s
-- hbm_gb              DOUBLE   memory, GB
-- link_gbps           DOUBLE   scale-up link bandwidth per direction, GB/s; NULL: unknown, so that
--                              what ranks send has no time
-- tdp_w               DOUBLE   board power, W
-- source              VARCHAR  document the figures come from; for a lake's own rows the one they
--                              give, or NULL
-- trusted             BOOLEAN  false if a figure is not from the vendor's own data sheet, or a
--                              lake's own row does not state it
CREATE TABLE hardware (
    hardware VARCHAR PRIMARY KEY,
    vendor VARCHAR NOT NULL,
    name VARCHAR,
    aliases VARCHAR,
    device_pattern VARCHAR,
    compute_major INTEGER,
    compute_minor INTEGER,
    num_sms INTEGER,
    memory_bytes_min BIGINT,
    memory_bytes_max BIGINT,
    clock_mhz INTEGER,
    peak_fp64_tflops DOUBLE,
    peak_fp32_tflops DOUBLE,
    peak_tf32_tflops DOUBLE,
    peak_bf16_tflops DOUBLE,
    peak_fp16_tflops DOUBLE,
    peak_fp8_tflops DOUBLE,
    peak_fp4_tflops DOUBLE,
    peak_int8_tops DOUBLE,
    vector_fp32_tflops DOUBLE,
    hbm_gbps DOUBLE,
    hbm_gb DOUBLE,
    link_gbps DOUBLE,
    tdp_w DOUBLE,
    source VARCHAR,
    trusted BOOLEAN
);
