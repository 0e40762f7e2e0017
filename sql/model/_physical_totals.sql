-- One row per scenario of the physical formulas: the sums over its operators, for one rank.
--
-- question          BIGINT   number of the scenario
-- flop              DOUBLE   FLOP of the matrix units
-- tensor_flop       DOUBLE   part that the matrix units can do
-- realizable_flop   DOUBLE   FLOP at full speed that take as long
-- weight_bytes      DOUBLE   weights read
-- activation_bytes  DOUBLE   activations read and written
-- kv_bytes          DOUBLE   KV cache read and written
-- temporary_bytes   DOUBLE   scores that leave the chip
-- net_bytes         DOUBLE   bytes sent
-- parameters_rank   DOUBLE   weights that the rank holds
-- tensor_ms         DOUBLE   least time of the matrix units
-- vector_ms         DOUBLE   least time of the vector units
-- peak_ms           DOUBLE   time of the FLOP at the peak
-- hbm_ms            DOUBLE   least time of the memory
-- net_ms            DOUBLE   least time of the network
-- serial_ms         DOUBLE   one operator after the other
CREATE VIEW _physical_totals AS
SELECT
    question,
    sum(stage_layers * flop_rank) AS flop,
    sum(stage_layers * tensor_flop) AS tensor_flop,
    sum(stage_layers * realizable_flop) AS realizable_flop,
    sum(stage_layers * weight_bytes) AS weight_bytes,
    sum(stage_layers * activation_bytes) AS activation_bytes,
    sum(stage_layers * kv_bytes) AS kv_bytes,
    sum(stage_layers * temporary_bytes) AS temporary_bytes,
    sum(stage_layers * net_bytes) AS net_bytes,
    sum(stage_layers * parameters_rank) AS parameters_rank,
    CASE
        WHEN NOT bool_or(flop_rank > 0 AND peak_tflops IS NULL)
            THEN sum(stage_layers * flop_us) / 1e3
    END AS tensor_ms,
    sum(stage_layers * vector_us) / 1e3 AS vector_ms,
    sum(stage_layers * flop_rank / peak_tflops) / 1e9 AS peak_ms,
    sum(stage_layers * hbm_us) / 1e3 AS hbm_ms,
    sum(stage_layers * net_us) / 1e3 AS net_ms,
    sum(
        CASE WHEN hidden THEN 0 ELSE stage_layers END
        * greatest(flop_us, vector_us, hbm_us, net_us)
    ) / 1e3 AS serial_ms
FROM _operator_rows
GROUP BY question;
