-- One row per what-if of a model report: a knob of the anchor, moved one step in one direction.
--
-- knob              VARCHAR  name of the knob
-- side              VARCHAR  low or high; with the knob the key
-- title             VARCHAR  display name of the knob
-- setting           VARCHAR  what the step sets it to
-- batch_factor      DOUBLE   times the sequences of a replica
-- length_factor     DOUBLE   times the prompt, or in decode the cached tokens
-- tp_factor         DOUBLE   times the degree of tensor parallelism
-- ep_factor         DOUBLE   times the degree of expert parallelism, and the replicas with it
-- weight_dtype      VARCHAR  type of the weights; NULL: unchanged, like the next two
-- activation_dtype  VARCHAR  type of the activations
-- kv_dtype          VARCHAR  type of the KV cache
-- top_k_factor      DOUBLE   times the experts per token
-- hidden_scale      DOUBLE   hidden width over the model's
-- kv_rank_scale     DOUBLE   width of compressed keys and values over the model's
-- flop_factor       DOUBLE   times the share of the chip's peak that is reached
-- hbm_factor        DOUBLE   times the share of the memory bandwidth that is
-- net_factor        DOUBLE   times the share of the links' bandwidth that is
CREATE TABLE report_steps (
    knob VARCHAR,
    side VARCHAR CHECK (side IN ('low', 'high')),
    title VARCHAR NOT NULL,
    setting VARCHAR NOT NULL,
    batch_factor DOUBLE NOT NULL DEFAULT 1,
    length_factor DOUBLE NOT NULL DEFAULT 1,
    tp_factor DOUBLE NOT NULL DEFAULT 1,
    ep_factor DOUBLE NOT NULL DEFAULT 1,
    weight_dtype VARCHAR,
    activation_dtype VARCHAR,
    kv_dtype VARCHAR,
    top_k_factor DOUBLE NOT NULL DEFAULT 1,
    hidden_scale DOUBLE NOT NULL DEFAULT 1,
    kv_rank_scale DOUBLE NOT NULL DEFAULT 1,
    flop_factor DOUBLE NOT NULL DEFAULT 1,
    hbm_factor DOUBLE NOT NULL DEFAULT 1,
    net_factor DOUBLE NOT NULL DEFAULT 1,
    PRIMARY KEY (knob, side)
);
