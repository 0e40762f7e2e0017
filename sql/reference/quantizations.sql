-- One row per quant_method of a config.json's quantization_config: the types of weights it makes.
--
-- method        VARCHAR  quant_method; the key
-- weight_dtype  VARCHAR  type of the linear layers' weights; NULL: as without
-- expert_dtype  VARCHAR  type of the routed experts' weights; NULL: as the linear layers'
-- comment       VARCHAR  remark
CREATE TABLE quantizations (
    method VARCHAR PRIMARY KEY,
    weight_dtype VARCHAR,
    expert_dtype VARCHAR,
    comment VARCHAR
);
