-- One row per alternative name of a module of operator_rules in files, such as a
-- quantization_config's list of modules left unquantised. The first expert stands for all.
--
-- module  VARCHAR  module, as operator_rules calls it
-- name    VARCHAR  its path in a layer, as in a Hugging Face model or an engine
CREATE TABLE module_names (
    module VARCHAR,
    name VARCHAR,
    PRIMARY KEY (module, name)
);
