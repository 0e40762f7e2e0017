-- One row per device operation: what it computes and moves, compared with the peaks of its chip.
--
-- The roof is the longer of FLOP by the peak of their type and bytes by the memory's bandwidth: no
-- kernel is faster. Kernels that multiply nothing have a roof by bytes alone. If several kernels do
-- the work of one operator, its FLOP are counted once, on the group; a kernel of the group has its
-- own figure only if its part is known. Sum group_flop over rows with kernel_id = group_id. Figures
-- above 1 are shown as they are: the chip, a type or a size is wrong, see over_100_causes.
--
-- A product fused with a collective (category mc2) has the roof of its product, while its time
-- includes the exchange with other ranks: mfu and roofline_eff are lower bounds for the product.
--
-- key: trace_id, kernel_id
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- pass_id          BIGINT   pass, NULL outside of passes
-- layer_id         BIGINT   layer, NULL outside of layers
-- kernel_id        BIGINT   the operation
-- start_ns         BIGINT   start, ns
-- end_ns           BIGINT   end, ns
-- display_name     VARCHAR  its name, shortened
-- category         VARCHAR  its category
-- map_rule         VARCHAR  how its operator was found, see map_rules
-- unit             VARCHAR  operator of the model, or several fused, or adapter (a product with the
--                           matrices of LoRA adapters), or kind of overhead: copies from and to the
--                           host are copy HtoD and copy DtoH
-- trace_op         VARCHAR  framework operator
-- batch            BIGINT   products side by side
-- m                BIGINT   rows of a product's result, or queries
-- n                BIGINT   columns of it
-- k                BIGINT   inner dimension
-- dur_us           DOUBLE   duration, µs
-- flop             DOUBLE   FLOP of the kernel; NULL if unknown, or known only for the group
-- flop_source      VARCHAR  shape, annotation (pairs of the pass), profiler, template, or none
-- bytes            DOUBLE   bytes of memory it must move
-- bytes_note       VARCHAR  why the shapes of an Ascend kernel do not give them: moved_note of
--                           ascend_operators
-- intensity        DOUBLE   FLOP per byte
-- ridge            DOUBLE   FLOP per byte above which the chip's peak is the limit
-- dtype            VARCHAR  type it computes in; NULL if it multiplies nothing
-- dtype_source     VARCHAR  source of the type: inputs, name, model, input, template, or default
-- peak_tflops      DOUBLE   dense peak of the chip in that type, TFLOP/s
-- peak_gbps        DOUBLE   bandwidth of its memory, GB/s
-- tflops           DOUBLE   flop over the duration, TFLOP/s
-- gbps             DOUBLE   bytes over the duration, GB/s
-- mfu              DOUBLE   tflops over the peak, a fraction
-- mbu              DOUBLE   gbps over the bandwidth, a fraction
-- compute_us       DOUBLE   minimum time for the FLOP, µs
-- memory_us        DOUBLE   minimum time for the bytes, µs; NULL for a copy from or to the host,
--                           whose limit is their link
-- roof_us          DOUBLE   the longer of both, µs
-- gap_us           DOUBLE   duration minus roof_us, µs
-- roofline_eff     DOUBLE   roof_us over the duration, a fraction
-- bound            VARCHAR  compute or memory: the longer of both
-- group_id         BIGINT   kernel_id of the first kernel that does work of the operator
-- group_kernels    BIGINT   kernels that do work of it
-- group_share      DOUBLE   this kernel's part of their time, NULL if it does no work of the
--                           operator
-- group_us         DOUBLE   sum of their durations, µs
-- group_flop       DOUBLE   FLOP of the operator
-- group_bytes      DOUBLE   bytes of the operator
-- group_tflops     DOUBLE   group_flop over group_us, TFLOP/s
-- group_mfu        DOUBLE   that over the peak, a fraction
-- group_roof_us    DOUBLE   minimum time of the operator, µs
-- flag_over_100    BOOLEAN  mfu, mbu or group_mfu is above 1
-- over_100_causes  VARCHAR  possible reasons, separated by semicolons; also where attainable_eff is
--                           above 1
-- attainable_us    DOUBLE   minimum time measured for such a product, of the table attainable, µs
-- attainable_eff   DOUBLE   that over the duration, a fraction
-- best_us          DOUBLE   minimum time of the same product in other traces of the chip, or in the
--                           table attainable, µs; see shape_bests
-- pct_of_best      DOUBLE   that over group_us, %; above 100 this kernel is the best so far
-- best_distance    DOUBLE   0 for the same product, else the distance to the nearest: the base-2
--                           logarithm of m over its rows; best_us is scaled by the roofs
-- best_source      VARCHAR  id of the trace it is from, or source in attainable
CREATE VIEW kernel_roofline AS
SELECT
    r.trace_id, r.rank, r.device, r.pass_id, r.layer_id, r.kernel_id, r.start_ns, r.end_ns,
    r.display_name, r.category, r.map_rule, r.unit, r.trace_op, r.batch, r.m, r.n, r.k, r.dur_us,
    r.flop, r.flop_source, r.bytes, r.bytes_note, r.intensity, r.ridge, r.dtype, r.dtype_source,
    r.peak_tflops, r.peak_gbps, r.tflops, r.gbps, r.mfu, r.mbu, r.compute_us, r.memory_us,
    r.roof_us, r.gap_us, r.roofline_eff, r.bound, r.group_id, r.group_kernels, r.group_share,
    r.group_us, r.group_flop, r.group_bytes, r.group_tflops, r.group_mfu, r.group_roof_us,
    r.flag_over_100, r.over_100_causes, r.attainable_us, r.attainable_eff,
    b.best_us, 100 * b.best_us / nullif(r.group_us, 0) AS pct_of_best, b.best_distance,
    b.best_source
FROM _kernel_roofs AS r
LEFT JOIN shape_bests AS b
    ON b.trace_id = r.trace_id AND b.dtype = r.dtype AND b.batch = r.batch AND b.m = r.m
    AND b.n = r.n AND b.k = r.k AND r.is_product;
