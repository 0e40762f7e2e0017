-- One row per scenario: the sums over the layers of its busiest pipeline stage, and what is
-- done once a training step.
CREATE VIEW _pass_sums AS
WITH physical AS (
    SELECT scenario_no, unnest(_stage_sums(o))
    FROM _operator_rows AS o
    GROUP BY scenario_no
)
SELECT
    scenario_no, physical.tokens, flop, tensor_flop, realizable_flop,
    weight_bytes + state_bytes AS weight_bytes, activation_bytes, kv_bytes, temporary_bytes,
    net_bytes + gradient_bytes AS net_bytes, compute_ms, peak_ms, hbm_ms + state_ms AS hbm_ms,
    net_ms + gradient_ms AS net_ms, serial_ms + state_ms + gradient_ms AS serial_ms,
    _least_ms({'compute_ms': compute_ms, 'hbm_ms': hbm_ms, 'net_ms': net_ms + slot_ms}) AS slot_ms
FROM physical
JOIN _optimizer_steps USING (scenario_no);

-- One row per scenario: what a pass costs a rank of its busiest pipeline stage.
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
-- net_ms             DOUBLE   minimum time of the network; NULL if its bandwidth is unknown
-- serial_ms          DOUBLE   one operator after the other, each as long as its slowest resource
-- slot_ms            DOUBLE   the largest of the three, without what is done once a training step
-- time_ms            DOUBLE   the largest of the three: with perfect overlap no pass is quicker;
--                             NULL if one of them is unknown, as serial_ms
-- hbm_bytes          DOUBLE   the sum of the four
-- intensity_weights  DOUBLE   FLOP per byte of weights
-- intensity          DOUBLE   FLOP per byte of memory
-- intensity_total    DOUBLE   FLOP per byte of memory and network
-- mfu                DOUBLE   time at the peak over time_ms, a fraction
-- effective_tflops   DOUBLE   FLOP over compute_ms, TFLOP/s
-- tflops             DOUBLE   FLOP over time_ms, TFLOP/s
-- tokens_per_s       DOUBLE   new tokens of a replica over time_ms
-- bound              VARCHAR  compute, memory or network: the largest time, in this order on a tie
CREATE VIEW _pass_costs AS
SELECT c.*, unnest(_roofline_rates(c))
FROM _pass_sums AS c;
