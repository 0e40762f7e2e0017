-- One row per name that profilers give an element type.
--
-- token                VARCHAR  the name in lower case, without a prefix dt_; the key
-- dtype                VARCHAR  canonical name
-- bytes                DOUBLE   size of an element; 0 for no tensor
-- cube_flop_per_cycle  DOUBLE   FLOP per cycle of one cube core of an Ascend 910, if it multiplies
--                               the type
CREATE TABLE dtypes (
    token VARCHAR PRIMARY KEY,
    dtype VARCHAR NOT NULL,
    bytes DOUBLE NOT NULL,
    cube_flop_per_cycle DOUBLE
);
