-- One row per piece of advice for a large part of the bytes in memory.
--
-- part                   VARCHAR  weights, activations, kv or temporary
-- share_above            DOUBLE   share of all bytes above which the advice applies
-- phase                  VARCHAR  phase it applies to; NULL: every one
-- attention_bytes_model  VARCHAR  execution_profiles it applies to; NULL: every one
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
