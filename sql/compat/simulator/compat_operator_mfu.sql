-- One row per operator of the layer that the reference's compute simulator lists, with the time
-- that it gives to the operator. Times are spread by FLOP, so all operators of a category get the
-- same MFU: timing_operators, the relation to use, spreads none.
--
-- key: request, op_seq
--
-- request      VARCHAR  scenario, from compat_requests
-- op_seq       BIGINT   order in the layer, from 0
-- op           VARCHAR  operator
-- category     VARCHAR  its category
-- shape_in     VARCHAR  shape of the input
-- shape_out    VARCHAR  shape of the output
-- flop         HUGEINT  FLOP of all GPUs
-- flop_gpu     DOUBLE   FLOP of one GPU
-- theo_us      DOUBLE   time at the peak of the given type, µs; NULL if the GPU is unknown
-- layer_pct    DOUBLE   share of the FLOP of the layer
-- measured_us  DOUBLE   time given to it, µs; NULL for none
-- mfu_pct      DOUBLE   theo_us over measured_us
CREATE VIEW compat_operator_mfu AS
WITH given AS (
    SELECT request, op_seq, sum(part_us) AS measured_us
    FROM _compat_spread
    GROUP BY request, op_seq
),
timed AS (
    SELECT
        request, op_seq, op, category, shape_in, shape_out, flop, flop_gpu,
        flop_gpu / (peak_tflops * 1e6) AS theo_us,
        flop / sum(flop) OVER (PARTITION BY request) * 100 AS layer_pct,
        measured_us
    FROM compat_model_operators AS ops
    JOIN _compat_shown_layers AS shown USING (request)
    JOIN _compat_questions USING (request)
    LEFT JOIN given USING (request, op_seq)
    WHERE ops.compress_ratio = table_ratio
)
SELECT
    request, op_seq, op, category, shape_in, shape_out, flop, flop_gpu, theo_us, layer_pct,
    measured_us, theo_us / nullif(measured_us, 0) * 100 AS mfu_pct
FROM timed;
