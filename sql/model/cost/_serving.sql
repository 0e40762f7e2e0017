-- One row per scenario: how its model is served, and on which chips.
-- scenario       VARCHAR  scenario
-- model          VARCHAR  model
-- phase          VARCHAR  prefill, decode or training
-- batch          BIGINT   sequences of a replica
-- seq_len        BIGINT   new tokens of each
-- kv_len         BIGINT   cached tokens of each
-- tp             BIGINT   degree of tensor parallelism
-- ep             BIGINT   degree of expert parallelism
-- dp             BIGINT   data-parallel replicas
-- pp             BIGINT   pipeline stages
-- gpus           BIGINT   chips that these take
-- hardware       VARCHAR  chip
-- hardware_name  VARCHAR  its full name
-- trusted        BOOLEAN  its figures are from the vendor's own data sheet
-- hbm_gbps       DOUBLE   bandwidth of its memory, GB/s
-- weight_dtype   VARCHAR  type of weights; NULL: as published
-- gemm_dtype     VARCHAR  type of products; NULL: by the weights
-- kv_dtype       VARCHAR  type of the cache; NULL: as published, else as activations
-- mla_mode       VARCHAR  form of MLA
CREATE VIEW _serving AS
SELECT
    s.scenario, s.model, s.phase, s.batch, s.seq_len, s.kv_len, s.tp, s.ep, s.dp, s.pp,
    greatest(s.tp * s.dp * s.pp, s.ep) AS gpus, s.hardware, h.name AS hardware_name, h.trusted,
    h.hbm_gbps, s.weight_dtype, s.gemm_dtype, s.kv_dtype, s.mla_mode
FROM scenarios AS s
LEFT JOIN hardware AS h ON h.hardware = s.hardware;
