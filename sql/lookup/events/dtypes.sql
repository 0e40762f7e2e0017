-- One row per name that profilers give a type of elements.
--
-- token                VARCHAR  the name in lower case, without a prefix dt_; the key
-- dtype                VARCHAR  one name for all of them
-- bytes                DOUBLE   size of an element; 0 for no tensor
-- cube_flop_per_cycle  DOUBLE   of one cube core of an Ascend 910, where it multiplies the type
CREATE TABLE dtypes (
    token VARCHAR PRIMARY KEY,
    dtype VARCHAR NOT NULL,
    bytes DOUBLE NOT NULL,
    cube_flop_per_cycle DOUBLE
);
