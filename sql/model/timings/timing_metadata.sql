-- One row per scenario whose times are given: those of a pass, of a layer, or of its kernels, which
-- are in category_timings or kernel_timings.
--
-- request         VARCHAR  scenario or reference request that the times belong to; the key
-- form            VARCHAR  kernel_ms, kernel_detail or kernel_flow: how kernels were given; NULL:
--                          none were
-- layer_id        BIGINT   layer that was measured, from 0; NULL if not given
-- compress_ratio  BIGINT   keys that the layer merges into one, -1 for none; NULL if not given
-- num_layers      BIGINT   layers of the measured model; NULL if not given
-- total_dur_us    DOUBLE   time of all kernels as stated beside them, µs
-- wall_us         DOUBLE   time from the layer's begin to its end, µs
-- measured_ms     DOUBLE   time of a forward pass on one GPU, ms; given for reference requests
-- per_layer_ms    DOUBLE   time of a layer on one GPU, ms; given for reference requests
CREATE TABLE timing_metadata (
    request VARCHAR PRIMARY KEY,
    form VARCHAR,
    layer_id BIGINT,
    compress_ratio BIGINT,
    num_layers BIGINT,
    total_dur_us DOUBLE,
    wall_us DOUBLE,
    measured_ms DOUBLE,
    per_layer_ms DOUBLE
);
