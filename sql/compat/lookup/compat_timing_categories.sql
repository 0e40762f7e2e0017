-- One row per kernel category of the reference's compute simulator: which operators get the
-- category's time.
--
-- category             VARCHAR    kernel category; the key
-- operator_categories  VARCHAR[]  of a layer's milliseconds per category: categories of operators
--                                 that share its time; empty: none
-- operators            VARCHAR[]  of a list of kernels: operators that share its time; empty: it is
--                                 overhead; NULL: those of a pool
-- detail_pool          VARCHAR[]  categories of operators that a summary of kernels spreads it over
-- flow_pool            VARCHAR[]  categories of operators that a flow of kernels spreads it over
-- pool_order           BIGINT     which pool takes its operators first
-- is_fp8               BOOLEAN    a flow of kernels compares it with the FP8 peak, whatever ran
CREATE TABLE compat_timing_categories (
    category VARCHAR PRIMARY KEY,
    operator_categories VARCHAR[],
    operators VARCHAR[],
    detail_pool VARCHAR[],
    flow_pool VARCHAR[],
    pool_order BIGINT,
    is_fp8 BOOLEAN NOT NULL
);
