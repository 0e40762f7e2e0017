-- One row per operator of a scenario of timing_metadata, for each kind of layer: the reference for
-- measured times. It is the relation operators, plus the chip and the number of ranks.
--
-- The method add_times of the Python interface computes it again; rows inserted otherwise count if
-- they were inserted before the first query.
--
-- stored: in memory
--
-- key: request, layer_kind, op_seq
--
-- request       VARCHAR  scenario
-- layer_kind    VARCHAR  kind of layer; ends and mtp for the parts outside layers
-- layers        BIGINT   layers of that kind
-- is_measured   BOOLEAN  the times of kernels are from such a layer
-- op_seq        INTEGER  place in the layer
-- op            VARCHAR  operator
-- fused_op      VARCHAR  product that engines make of it and its neighbours; NULL: none
-- category      VARCHAR  its category
-- split_rule    VARCHAR  how ranks share it
-- input_shape   VARCHAR  shape of its input
-- output_shape  VARCHAR  shape of its result
-- n             BIGINT   columns of its result on one rank; NULL unless it is a single product
-- k             BIGINT   inner dimension on one rank
-- flop          BIGINT   FLOP of a replica
-- flop_rank     DOUBLE   FLOP of one rank
-- vector_flop   BIGINT   FLOP outside the matrix units
-- weight_bytes  DOUBLE   weights that a rank reads
-- kv_bytes      DOUBLE   KV cache that a rank reads and writes
-- bytes         DOUBLE   all bytes that a rank reads and writes
-- alone_bytes   DOUBLE   the same as a kernel of its own, if fusion hides it
-- dtype         VARCHAR  type it computes in, by the model and the scenario
-- peak_tflops   DOUBLE   peak of that type, TFLOP/s
-- hardware      VARCHAR  chip
-- hbm_gbps      DOUBLE   its memory's bandwidth, GB/s
-- replicas      BIGINT   data-parallel replicas
-- stages        BIGINT   pipeline stages
-- gpus          BIGINT   ranks of all replicas
CREATE VIEW timing_template AS
SELECT
    timings.request, operators.layer_kind, operators.layers,
    coalesce(shown.layer_kind = operators.layer_kind, FALSE) AS is_measured,
    op_seq, op, fused_op, category, split_rule, input_shape, output_shape,
    CASE WHEN coalesce(instances, 1) = 1 AND category <> 'attention_core' THEN n_rank END AS n,
    CASE WHEN coalesce(instances, 1) = 1 AND category <> 'attention_core' THEN k_rank END AS k,
    flop, flop_rank, vector_flop, weight_bytes, kv_bytes,
    weight_bytes + activation_bytes + temporary_bytes + kv_bytes AS bytes,
    weight_bytes + alone_bytes + kv_bytes AS alone_bytes, dtype, peak_tflops,
    scenarios.hardware, hbm_gbps, dp AS replicas, pp AS stages, greatest(tp * dp * pp, ep) AS gpus
FROM timing_metadata AS timings
JOIN scenarios ON scenarios.scenario = timings.request
JOIN operators ON operators.scenario = timings.request
LEFT JOIN hardware ON hardware.hardware = scenarios.hardware
LEFT JOIN _timing_layers AS shown ON shown.request = timings.request;
