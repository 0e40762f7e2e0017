-- One row per device and holder of its busy time: how much of it lies in the layers of each series
-- of passes, around them, and elsewhere. The rows of a device sum to its busy time: each moment
-- counts once, for layers if a kernel of one runs, else for the parts around them.
--
-- An answer about layers covers only its series' row `layers`.
--
-- key: trace_id, device, series?, direction?, part?, holder?, name?
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- series        VARCHAR  series of passes, NULL outside passes
-- direction     VARCHAR  of layers in training that shows it: forward, backward, weight gradient;
--                        else NULL
-- part          VARCHAR  layers, or prologue, between and epilogue of its passes; NULL in the same
--                        cases
-- holder        VARCHAR  what names the rest: module, the outermost one that launched it, else
--                        category; NULL in passes
-- name          VARCHAR  name of that module or category, NULL in passes
-- kernel_count  BIGINT   operations
-- busy_us       DOUBLE   busy time, µs
-- coverage_pct  DOUBLE   share of the device's busy time
CREATE VIEW pass_coverage AS
SELECT
    trace_id, rank, device, series, direction, part, holder, name, kernel_count,
    held_ns / 1000.0 AS busy_us,
    100 * CAST(held_ns AS DOUBLE) / nullif(busy_ns, 0) AS coverage_pct
FROM _pass_coverage;
