-- One row per anchor that finds the layers of a family of models in a serving or training stack.
--
-- profile           VARCHAR  name of the profile; several anchors may belong to one
-- anchor_pattern    VARCHAR  regular expression (RE2) that the anchor kernel's name contains,
--                            case-sensitive
-- role              VARCHAR  begin, inside or end: where in its block the anchor stands
-- blocks_per_layer  INTEGER  anchors in one layer
-- half_labels       VARCHAR  names of a layer's blocks, in order, separated by commas
-- default_layers    INTEGER  layers of the best known model; NULL if unknown
-- config_field      VARCHAR  field of a model's config.json that calls for this profile
-- model_types       VARCHAR  values of the config's model_type that do, separated by commas
-- priority          INTEGER  order of preference, lowest first; the key
-- comment           VARCHAR  where the anchor was seen, and why it works
CREATE TABLE profiles (
    profile VARCHAR NOT NULL,
    anchor_pattern VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    blocks_per_layer INTEGER NOT NULL,
    half_labels VARCHAR NOT NULL,
    default_layers INTEGER,
    config_field VARCHAR,
    model_types VARCHAR,
    priority INTEGER PRIMARY KEY,
    comment VARCHAR
);
