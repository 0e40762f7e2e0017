-- One row per quant_method of a config.json's quantization_config: the types of its weights, and
-- their scales.
--
-- method         VARCHAR  quant_method; the key
-- weight_dtype   VARCHAR  type of the linear layers' weights; NULL: as without quantisation
-- expert_dtype   VARCHAR  type of the routed experts' weights; NULL: as the linear layers'
-- scale_bytes    DOUBLE   bytes of a scale, with its zero point; NULL: too few to count
-- scale_weights  BIGINT   weights that share a scale if the file gives no number; NULL: a whole
--                         tensor
-- comment        VARCHAR  remark
CREATE TABLE quantizations (
    method VARCHAR PRIMARY KEY,
    weight_dtype VARCHAR,
    expert_dtype VARCHAR,
    scale_bytes DOUBLE,
    scale_weights BIGINT,
    comment VARCHAR
);
