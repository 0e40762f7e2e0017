-- One row per config.json of a trace that was given to this connection to cost its model without
-- the trace; empty by default.
--
-- model   VARCHAR  name; the key
-- config  VARCHAR  the config.json of Hugging Face, as text
CREATE TABLE given_configs (
    model VARCHAR PRIMARY KEY,
    config VARCHAR NOT NULL
);
