-- One row per advice that a part of the bytes in memory calls for when it is large.
--
-- part                   VARCHAR  weights, activations, kv or temporary
-- share_above            DOUBLE   share of all bytes from which on the advice holds
-- phase                  VARCHAR  phase it holds in; NULL: every one
-- attention_bytes_model  VARCHAR  execution_profiles it holds for; NULL: every one
-- advice                 VARCHAR  what to look at
-- comment                VARCHAR  where the limit is from
CREATE TABLE byte_share_rules (
    part VARCHAR,
    share_above DOUBLE NOT NULL,
    phase VARCHAR,
    attention_bytes_model VARCHAR,
    advice VARCHAR NOT NULL,
    comment VARCHAR,
    PRIMARY KEY (part, share_above)
);
