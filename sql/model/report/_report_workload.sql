-- One row: what the model report that was asked last is about; empty until then.
--
-- model       VARCHAR    model
-- formulas    VARCHAR    formulas of its scenarios
-- chips       VARCHAR[]  chips; the report is on the first
-- executions  VARCHAR[]  execution profiles; the report is on the last
-- main        VARCHAR    the profile that figures are of
-- base        VARCHAR    the profile that stands beside it
-- batch       BIGINT     sequences of a replica
-- seq_len     BIGINT     new tokens of a sequence in prefill and training
-- kv_len      BIGINT     cached tokens of a sequence in decode
-- tp          BIGINT     degree of tensor parallelism
-- ep          BIGINT     degree of expert parallelism
-- dp          BIGINT     data-parallel replicas
-- pp          BIGINT     pipeline stages
CREATE TABLE _report_workload (
    model VARCHAR PRIMARY KEY,
    formulas VARCHAR,
    chips VARCHAR[],
    executions VARCHAR[],
    main VARCHAR,
    base VARCHAR,
    batch BIGINT,
    seq_len BIGINT,
    kv_len BIGINT,
    tp BIGINT,
    ep BIGINT,
    dp BIGINT,
    pp BIGINT
);
