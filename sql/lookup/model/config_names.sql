-- One row per name that a config.json may use for a property of a model: of the names that are
-- there, and not null, the one of least priority counts.
--
-- field     VARCHAR  what it means
-- priority  INTEGER  which name goes first
-- name      VARCHAR  key of the config.json
CREATE TABLE config_names (
    field VARCHAR,
    priority INTEGER,
    name VARCHAR NOT NULL,
    PRIMARY KEY (field, priority)
);
