-- One row per operator of a scenario of timing_metadata, for each kind of layer: what it should
-- cost on one rank, and its time in the measured layer. A time belongs to one operator, or to a
-- group of them, see timing_groups: it is never spread over them by FLOP.
--
-- key: request, layer_kind, op_seq
--
-- request       VARCHAR  scenario
-- layer_kind    VARCHAR  kind of layer; ends and mtp for the parts outside layers
-- layers        BIGINT   layers of that kind
-- op_seq        INTEGER  place in the layer
-- op            VARCHAR  operator
-- category      VARCHAR  its category
-- split_rule    VARCHAR  how ranks share it
-- input_shape   VARCHAR  shape of its input
-- output_shape  VARCHAR  shape of its result
-- flop          BIGINT   FLOP of a replica
-- flop_rank     DOUBLE   FLOP of one rank
-- layer_pct     DOUBLE   share of the FLOP of the layer
-- vector_flop   BIGINT   FLOP outside the matrix units; not part of any MFU
-- weight_bytes  DOUBLE   weights that a rank reads
-- bytes         DOUBLE   all bytes that a rank reads and writes, as a kernel of its own if it is
--                        one
-- intensity     DOUBLE   FLOP of a rank per byte
-- dtype         VARCHAR  type it computes in, by the model and the scenario
-- peak_tflops   DOUBLE   peak of that type, TFLOP/s
-- compute_us    DOUBLE   time of its FLOP at that peak, µs; NULL if it is unknown
-- memory_us     DOUBLE   time of its bytes at the memory's bandwidth, µs; NULL if it is unknown
-- bound         VARCHAR  compute or memory: the longer of both; NULL if one is unknown
-- group_id      INTEGER  group that has measured time; NULL for none
-- measured_us   DOUBLE   time of its kernels, µs; NULL if a group of several has it
-- mfu_pct       DOUBLE   share of the peak of the type that its kernels show
-- mbu_pct       DOUBLE   share of the memory's bandwidth
-- roofline_pct  DOUBLE   the longer of both times over measured_us; NULL if one is unknown
-- over_100_causes VARCHAR possible reasons where one of these is above 100, separated by semicolons
CREATE VIEW timing_operators AS
WITH timed AS (
    SELECT
        listed.request, listed.layer_kind, layers, listed.op_seq, op, category, split_rule,
        input_shape, output_shape, flop, listed.flop_rank,
        100.0 * flop / nullif(sum(flop) OVER (PARTITION BY listed.request, listed.layer_kind), 0)
            AS layer_pct,
        vector_flop, weight_bytes, len(groups.operators) = 1 AS is_alone,
        CASE WHEN is_alone THEN groups.bytes ELSE listed.bytes END AS moved_bytes,
        listed.flop_rank / nullif(moved_bytes, 0) AS intensity, listed.dtype, listed.peak_tflops,
        CASE WHEN flop > 0 THEN listed.flop_rank / listed.peak_tflops / 1e6 ELSE 0 END
            AS compute_us,
        moved_bytes / hbm_gbps / 1e3 AS memory_us, own.group_id, measured_us, mfu_pct, mbu_pct,
        roofline_pct, over_100_causes
    FROM timing_template AS listed
    LEFT JOIN _timing_groups AS own
        ON own.request = listed.request AND own.op_seq = listed.op_seq AND is_measured
    LEFT JOIN timing_groups AS groups
        ON groups.request = own.request AND groups.group_id = own.group_id
)
SELECT
    request, layer_kind, layers, op_seq, op, category, split_rule, input_shape, output_shape, flop,
    flop_rank, layer_pct, vector_flop, weight_bytes, moved_bytes AS bytes, intensity, dtype,
    peak_tflops, compute_us, memory_us,
    CASE
        WHEN nullif(compute_us + memory_us, 0) IS NULL THEN NULL
        WHEN compute_us >= memory_us THEN 'compute'
        ELSE 'memory'
    END AS bound,
    group_id,
    CASE WHEN is_alone THEN measured_us END AS measured_us,
    CASE WHEN is_alone THEN mfu_pct END AS mfu_pct,
    CASE WHEN is_alone THEN mbu_pct END AS mbu_pct,
    CASE WHEN is_alone THEN roofline_pct END AS roofline_pct,
    CASE WHEN is_alone THEN over_100_causes END AS over_100_causes
FROM timed;
