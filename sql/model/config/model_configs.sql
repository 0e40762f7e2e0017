-- One row per model given by its config.json. Such a row, written by Python's know_model, takes
-- precedence over one of the same name in the table models.
--
-- model   VARCHAR  name; the key
-- config  VARCHAR  the config.json of Hugging Face, as text
CREATE TABLE model_configs (
    model VARCHAR PRIMARY KEY,
    config VARCHAR NOT NULL
);
