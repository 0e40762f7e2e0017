-- One row per name that a config.json may use for a property of a model: of the names that are
-- present and not null, the one of lowest priority applies.
--
-- field     VARCHAR  what it means
-- priority  INTEGER  precedence, lowest first
-- name      VARCHAR  key of the config.json
CREATE TABLE config_names (
    field VARCHAR,
    priority INTEGER,
    name VARCHAR NOT NULL,
    PRIMARY KEY (field, priority)
);
