-- One row: what the model report that was requested last is about; empty until then.
--
-- model              VARCHAR    model
-- formulas           VARCHAR    formulas of its scenarios
-- chips              VARCHAR[]  chips; the report is on the first
-- executions         VARCHAR[]  execution profiles; the report is on the last
-- main               VARCHAR    main profile, which the figures show
-- base               VARCHAR    base profile, shown for comparison
-- batch              BIGINT     sequences of a replica
-- seq_len            BIGINT     new tokens of a sequence in prefill and training
-- kv_len             BIGINT     cached tokens of a sequence in decode
-- tp                 BIGINT     degree of tensor parallelism
-- ep                 BIGINT     degree of expert parallelism
-- dp                 BIGINT     data-parallel replicas
-- pp                 BIGINT     pipeline stages
-- weight_dtype       VARCHAR    type of weights; NULL: as published
-- activation_dtype   VARCHAR    type of activations; NULL: open
-- kv_dtype           VARCHAR    type of the KV cache; NULL: as published, else as activations
-- batches            BIGINT[]   batches of the sweep of decode
-- frontier_batches   BIGINT[]   batches tried for the smallest one that is compute-bound
-- open_type          VARCHAR    type of weights and activations that are not given; NULL: weights
--                               as published, activations in BF16
-- tp_shares_experts  BOOLEAN    ranks of tensor parallelism share experts, too
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
    pp BIGINT,
    weight_dtype VARCHAR,
    activation_dtype VARCHAR,
    kv_dtype VARCHAR,
    batches BIGINT[],
    frontier_batches BIGINT[],
    open_type VARCHAR,
    tp_shares_experts BOOLEAN
);
