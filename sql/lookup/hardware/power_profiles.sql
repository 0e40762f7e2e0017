-- One row per accelerator whose power has been measured, and one named any for all others: the
-- fractions of board power that its busy units draw.
--
-- hardware        VARCHAR  chip of the table hardware; any: every other chip
-- idle_share      DOUBLE   power when idle over the board power
-- compute_weight  DOUBLE   part of the rest that fully busy matrix units draw
-- memory_weight   DOUBLE   part of it that a fully busy memory draws
-- network_weight  DOUBLE   part of it that fully busy links draw
-- comment         VARCHAR  where the figures are from
CREATE TABLE power_profiles (
    hardware VARCHAR PRIMARY KEY,
    idle_share DOUBLE NOT NULL,
    compute_weight DOUBLE NOT NULL,
    memory_weight DOUBLE NOT NULL,
    network_weight DOUBLE NOT NULL,
    comment VARCHAR
);
