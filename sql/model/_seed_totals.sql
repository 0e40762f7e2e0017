-- One row per scenario of the reference report's formulas: the sums over its module entries.
--
-- point             BIGINT  the scenario's row
-- tokens            DOUBLE  tokens of the pass
-- flop              DOUBLE  F_theory
-- tensor_flop       DOUBLE  F_tensorcore
-- realizable_flop   DOUBLE  F_realizable
-- weight_bytes      DOUBLE  bytes_weights
-- activation_bytes  DOUBLE  bytes_activations
-- kv_bytes          DOUBLE  bytes_kv
-- temporary_bytes   DOUBLE  bytes_temporary
-- net_bytes         DOUBLE  bytes_net
-- compute_ms        DOUBLE  T_comp
-- peak_ms           DOUBLE  time of F_theory at P_peak
-- hbm_ms            DOUBLE  T_hbm
-- net_ms            DOUBLE  T_net
-- serial_ms         DOUBLE  one module after the other, each as long as its slowest resource
CREATE VIEW _seed_totals AS
SELECT
    point, any_value(tokens) AS tokens, sum(flop) AS flop, sum(tensor_flop) AS tensor_flop,
    sum(realizable_flop) AS realizable_flop,
    sum(weight_bytes) AS weight_bytes, sum(activation_bytes) AS activation_bytes,
    sum(kv_bytes) AS kv_bytes, sum(temporary_bytes) AS temporary_bytes,
    sum(net_bytes) AS net_bytes, sum(compute_ms) AS compute_ms, sum(peak_ms) AS peak_ms,
    sum(hbm_ms) AS hbm_ms, sum(net_ms) AS net_ms,
    sum(greatest(compute_ms, hbm_ms, net_ms)) AS serial_ms
FROM _seed_terms
GROUP BY point;
