-- One row per scenario with timed kernels: the layer that they belong to, as given, and where its
-- time went.
-- request                VARCHAR  scenario
-- layer_kind             VARCHAR  kind of layer
-- layer_id               BIGINT   the layer itself, or the first that fits
-- told_by                VARCHAR  what its kind follows from: see _timing_layers
-- form                   VARCHAR  kernel_ms, kernel_detail or kernel_flow: how kernels were given
-- stated_compress_ratio  BIGINT   keys that the layer merges into one, as given
-- stated_layers          BIGINT   layers of the measured model, as given
-- stated_us              DOUBLE   time of all kernels as stated beside them, µs
-- unlisted_us            DOUBLE   stated_us without that of the kernels listed, µs
-- kernels                BIGINT   kernels, or categories where only sums are given
-- total_us               DOUBLE   time of all, µs
-- assigned_us            DOUBLE   time of kernels that belong to operators, µs
-- overhead_us            DOUBLE   time of kernels that belong to none, µs
-- unmapped_us            DOUBLE   time of kernels of unknown operators, µs
-- coverage_pct           DOUBLE   assigned and overhead, as a share of all
-- untimed_pct            DOUBLE   share of the layer's FLOP in operators that have no time
CREATE VIEW _timed_layers AS
SELECT
    s.request, l.layer_kind, l.layer_id, l.told_by, m.form,
    m.compress_ratio AS stated_compress_ratio, m.num_layers AS stated_layers, s.stated_us,
    s.unlisted_us, s.kernel_count AS kernels, CAST(s.sum_us AS DOUBLE) AS total_us,
    CAST(s.assigned_us AS DOUBLE) AS assigned_us, CAST(s.overhead_us AS DOUBLE) AS overhead_us,
    CAST(s.unmapped_us AS DOUBLE) AS unmapped_us, s.coverage_pct, s.untimed_pct
FROM timing_sums AS s
JOIN timing_metadata AS m ON m.request = s.request
JOIN _timing_layers AS l ON l.request = s.request;
