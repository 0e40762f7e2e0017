-- One row per price of a chip; none are shipped, since they change weekly. A lake's own table adds
-- them.
--
-- offer         VARCHAR  name of the price; the key
-- hardware      VARCHAR  chip of the table hardware
-- provider      VARCHAR  who rents it out
-- region        VARCHAR  where
-- commitment    VARCHAR  on demand, spot, a year
-- usd_per_hour  DOUBLE   price of one chip for an hour, US dollars
-- quoted_on     DATE     date of the price
-- source        VARCHAR  where the price is published
CREATE TABLE prices (
    offer VARCHAR PRIMARY KEY,
    hardware VARCHAR NOT NULL,
    provider VARCHAR,
    region VARCHAR,
    commitment VARCHAR,
    usd_per_hour DOUBLE NOT NULL CHECK (usd_per_hour >= 0),
    quoted_on DATE,
    source VARCHAR
);
