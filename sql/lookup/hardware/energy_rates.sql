-- One row per accelerator and kind of work: the energy that it takes, on top of idle power. Rows of
-- the accelerator named any apply to all without their own.
--
-- hardware    VARCHAR  chip of the table hardware, or any
-- work        VARCHAR  a type of dtypes for FLOP of the matrix units in it, vector for FLOP outside
--                      them, hbm for bytes of memory, network for bytes sent
-- picojoules  DOUBLE   energy of a FLOP or a byte, pJ
-- comment     VARCHAR  where the figure is from
CREATE TABLE energy_rates (
    hardware VARCHAR,
    work VARCHAR,
    picojoules DOUBLE NOT NULL,
    comment VARCHAR,
    PRIMARY KEY (hardware, work)
);
