-- One row per kind of module that a model may consist of: the sizes of its weights, as names of the
-- model's sizes. A model that lacks one of the sizes does not have the module.
--
-- Names and categories are those of the reference report.
--
-- module     VARCHAR  path, an asterisk for the number of a layer or an expert; the key
-- part       VARCHAR  what it belongs to: attention, dense, router, routed, shared, embedding,
--                     head, norm or mhc
-- kind       VARCHAR  linear, embedding or norm
-- inputs     VARCHAR  size of its input; NULL: one
-- outputs    VARCHAR  size of its output
-- instances  VARCHAR  how many there are
-- bias       VARCHAR  size that is 1 where the outputs have a bias; NULL: never
-- category   VARCHAR  what the report counts it under
-- comment    VARCHAR  remark
CREATE TABLE module_shapes (
    module VARCHAR PRIMARY KEY,
    part VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    inputs VARCHAR,
    outputs VARCHAR NOT NULL,
    instances VARCHAR NOT NULL,
    bias VARCHAR,
    category VARCHAR NOT NULL,
    comment VARCHAR
);
