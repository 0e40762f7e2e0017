-- One row per kind of collective: how its bandwidth is computed.
--
-- Algorithm bandwidth is the size of the whole operation over its time; bus bandwidth is that times
-- a factor that makes it comparable with the speed of a link, whatever the number of ranks n.
--
-- kind           VARCHAR  kind of collective; the key
-- scale          DOUBLE   factor of the bus bandwidth; NULL if the bandwidth is unknown
-- peers_only     BOOLEAN  the factor is also multiplied by (n - 1) / n
-- input_shares   BOOLEAN  the input of a rank is one n-th of the size
-- output_shares  BOOLEAN  the output of a rank is one n-th of the size
-- ends_together  BOOLEAN  no rank can finish long before the last one, so its ends align clocks
-- formula        VARCHAR  the bus bandwidth in words
-- source         VARCHAR  where the formula is from
CREATE TABLE collective_formulas (
    kind VARCHAR PRIMARY KEY,
    scale DOUBLE,
    peers_only BOOLEAN NOT NULL,
    input_shares BOOLEAN NOT NULL,
    output_shares BOOLEAN NOT NULL,
    ends_together BOOLEAN NOT NULL,
    formula VARCHAR,
    source VARCHAR
);
