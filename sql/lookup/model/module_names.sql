-- One row per other name that files have for a module of operator_rules, as a quantization_config
-- lists what it leaves as it is. Of experts the first stands for all.
--
-- module  VARCHAR  module, as operator_rules calls it
-- name    VARCHAR  its path in a layer, as a model of Hugging Face or an engine has it
CREATE TABLE module_names (
    module VARCHAR,
    name VARCHAR,
    PRIMARY KEY (module, name)
);
