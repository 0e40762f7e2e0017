-- One row per trace and holder of its devices' busy time: how much of it the holder has, over all
-- devices.
-- trace_id   VARCHAR  trace
-- series     VARCHAR  series of passes, NULL outside passes
-- part       VARCHAR  layers, prologue, between or epilogue of its passes; NULL in the same cases
-- holder     VARCHAR  what names the rest: module or category; NULL in passes
-- name       VARCHAR  name of that module or category, NULL in passes
-- direction  VARCHAR  direction of layers in training; else NULL
-- us         DOUBLE   busy time, µs
-- pct        DOUBLE   its share of the busy time of all devices
CREATE VIEW _busy_shares AS
SELECT
    trace_id, series, part, holder, name, direction, sum(busy_us) AS us,
    100 * sum(busy_us) / sum(sum(busy_us)) OVER (PARTITION BY trace_id) AS pct
FROM pass_coverage
GROUP BY trace_id, series, part, holder, name, direction;
