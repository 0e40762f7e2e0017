-- One row per scenario of the model report that was requested last: its anchor, sweeps around it,
-- and what-ifs.
-- scenario          VARCHAR  its name
-- study             VARCHAR  study of the report
-- formulas          VARCHAR  formulas
-- model             VARCHAR  model
-- phase             VARCHAR  training, prefill or decode
-- batch             BIGINT   sequences of a replica
-- seq_len           BIGINT   new tokens of each
-- kv_len            BIGINT   cached tokens of each
-- tp                BIGINT   degree of tensor parallelism
-- ep                BIGINT   degree of expert parallelism
-- dp                BIGINT   data-parallel replicas
-- pp                BIGINT   pipeline stages
-- hardware          VARCHAR  chip
-- execution         VARCHAR  execution profile
-- weight_dtype      VARCHAR  type of weights; NULL: as published
-- activation_dtype  VARCHAR  type of activations; NULL: open
-- kv_dtype          VARCHAR  type of the KV cache; NULL: as published, else as activations
-- head_dtype        VARCHAR  type of the output head and the router; NULL: by the rest
-- top_k             BIGINT   experts per token; NULL: as published
-- hidden_scale      DOUBLE   times the hidden width
-- kv_rank_scale     DOUBLE   times the rank of the KV cache
CREATE VIEW _asked_scenarios AS
SELECT * FROM _asked_anchor
UNION ALL BY NAME
SELECT * FROM _asked_sweeps
UNION ALL BY NAME
SELECT * FROM _asked_turns;
