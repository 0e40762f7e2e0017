-- One row per scenario given: a model, its work and the chips. Rows of the lake's own file
-- lookup/scenarios.csv and rows inserted on the open connection count alike.
--
-- scenario          VARCHAR   name; the key
-- study             VARCHAR   sweep that it is a point of; NULL: none
-- formulas          VARCHAR   set of formulas: physical; the relations of another set are in a
--                             schema of its name
-- model             VARCHAR   model of the relation architectures
-- phase             VARCHAR   prefill, decode or training
-- batch             BIGINT    sequences of one data-parallel replica
-- seq_len           BIGINT    new tokens of each sequence: its prompt, 1 in decode
-- kv_len            BIGINT    tokens of each sequence already in the KV cache
-- requests          STRUCT[]  groups of equal requests: how many, new tokens and cached tokens of
--                             each; replaces batch, seq_len and kv_len if not NULL
-- logit_rows        BIGINT    rows of the output head; NULL: one per sequence, in training and
--                             decode one per new token
-- tp                BIGINT    degree of tensor parallelism in a replica
-- ep                BIGINT    degree of expert parallelism, over tensor, context and data parallel
--                             ranks
-- dp                BIGINT    data-parallel replicas
-- pp                BIGINT    pipeline stages
-- cp                BIGINT    context-parallel ranks, which share the tokens of each sequence and
--                             pass keys and values around a ring
-- head_tp           BIGINT    ranks that share the output head; NULL: tp
-- microbatches      BIGINT    microbatches of a step, of batch sequences each
-- virtual_stages    BIGINT    interleaved parts of the layers that a stage holds
-- zero_stage        BIGINT    what replicas shard: 1 the optimizer's state, 2 gradients too, 3
--                             weights too; 0 nothing
-- recompute         BOOLEAN   training computes the forward pass again and keeps no activations
-- hardware          VARCHAR   chip of the table hardware; NULL: no times
-- execution         VARCHAR   profile of the table execution_profiles
-- weight_dtype      VARCHAR   type of the linear layers' weights; NULL: as published
-- activation_dtype  VARCHAR   type of activations; NULL: bf16
-- kv_dtype          VARCHAR   type of the KV cache; NULL: as published, else that of activations
-- gemm_dtype        VARCHAR   type the linear layers compute in; NULL: fp8 where weights are fp8,
--                             else the wider of weights' and activations', narrow weights widened
-- head_dtype        VARCHAR   type of weights of the output head and the router; NULL: bf16, or
--                             fp16 with activations of that type
-- mla_mode          VARCHAR   form of a latent attention: absorbed, expanded, or auto: absorbed in
--                             decode, else expanded
-- mtp_layers        BIGINT    layers of multi-token prediction that run
-- top_k             BIGINT    experts per token; NULL: the model's
-- hidden_scale      DOUBLE    hidden width as a multiple of the model's
-- kv_rank_scale     DOUBLE    width of the compressed keys and values as a multiple of the model's
-- expert_imbalance  DOUBLE    tokens of the busiest rank's experts over the mean
CREATE TABLE scenarios (
    scenario VARCHAR PRIMARY KEY,
    study VARCHAR,
    formulas VARCHAR NOT NULL DEFAULT 'physical',
    model VARCHAR NOT NULL,
    phase VARCHAR NOT NULL,
    batch BIGINT NOT NULL DEFAULT 1,
    seq_len BIGINT NOT NULL DEFAULT 1,
    kv_len BIGINT NOT NULL DEFAULT 0,
    requests STRUCT(requests BIGINT, new_tokens BIGINT, cached_tokens BIGINT)[],
    logit_rows BIGINT,
    tp BIGINT NOT NULL DEFAULT 1,
    ep BIGINT NOT NULL DEFAULT 1,
    dp BIGINT NOT NULL DEFAULT 1,
    pp BIGINT NOT NULL DEFAULT 1,
    cp BIGINT NOT NULL DEFAULT 1,
    head_tp BIGINT,
    microbatches BIGINT NOT NULL DEFAULT 1,
    virtual_stages BIGINT NOT NULL DEFAULT 1,
    zero_stage BIGINT NOT NULL DEFAULT 0,
    recompute BOOLEAN NOT NULL DEFAULT FALSE,
    hardware VARCHAR,
    execution VARCHAR NOT NULL DEFAULT 'physical',
    weight_dtype VARCHAR,
    activation_dtype VARCHAR,
    kv_dtype VARCHAR,
    gemm_dtype VARCHAR,
    head_dtype VARCHAR,
    mla_mode VARCHAR NOT NULL DEFAULT 'auto',
    mtp_layers BIGINT NOT NULL DEFAULT 0,
    top_k BIGINT,
    hidden_scale DOUBLE NOT NULL DEFAULT 1,
    kv_rank_scale DOUBLE NOT NULL DEFAULT 1,
    expert_imbalance DOUBLE NOT NULL DEFAULT 1
);
