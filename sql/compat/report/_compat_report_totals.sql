-- One row per scenario of the reference report's formulas: the sums over its module entries.
--
-- instead of: compat._pass_sums
--
-- scenario_no        BIGINT   the scenario's row
-- tokens             BIGINT   new tokens of a replica
-- flop               DOUBLE   FLOP of the matrix units
-- tensor_flop        DOUBLE   part of these that the matrix units can do
-- realizable_flop    DOUBLE   FLOP at full speed that take as long
-- weight_bytes       DOUBLE   weights read; in training gradients and the optimizer's state too
-- activation_bytes   DOUBLE   activations read and written
-- kv_bytes           DOUBLE   KV cache read and written
-- temporary_bytes    DOUBLE   scores of an attention that leave the chip
-- net_bytes          DOUBLE   bytes sent to other chips
-- compute_ms         DOUBLE   minimum time of matrix units or vector units, the larger
-- peak_ms            DOUBLE   time of the FLOP at the peak
-- hbm_ms             DOUBLE   minimum time of the memory
-- net_ms             DOUBLE   minimum time of the network
-- serial_ms          DOUBLE   one operator after the other, each as long as its slowest resource
-- slot_ms            DOUBLE   NULL: a training step ends with nothing more
CREATE VIEW _compat_report_totals AS
SELECT
    scenario_no, any_value(tokens) AS tokens, sum(flop) AS flop, sum(tensor_flop) AS tensor_flop,
    sum(realizable_flop) AS realizable_flop,
    sum(weight_bytes) AS weight_bytes, sum(activation_bytes) AS activation_bytes,
    sum(kv_bytes) AS kv_bytes, sum(temporary_bytes) AS temporary_bytes,
    sum(net_bytes) AS net_bytes, sum(compute_ms) AS compute_ms, sum(peak_ms) AS peak_ms,
    sum(hbm_ms) AS hbm_ms, sum(net_ms) AS net_ms,
    sum(serial_ms) AS serial_ms, CAST(NULL AS DOUBLE) AS slot_ms
FROM _compat_report_modules
GROUP BY scenario_no;
