-- One row per row of ops that is an operation of its own (role op), under the name shared by its
-- copies in the layers of a model.
-- trace_id         VARCHAR  trace
-- device           INTEGER  device
-- program          VARCHAR  compiled program, NULL if there are none
-- op               VARCHAR  name shared by the copies if the trace marks them, else the name
-- class            VARCHAR  compute, communication, copy, dma or wait
-- family           VARCHAR  family by family_rules, else the kernel category
-- calls            BIGINT   calls
-- sum_us           DOUBLE   time of all calls
-- self_us          DOUBLE   the same without operations inside
-- flop             HUGEINT  floating-point operations of the calls where they are known
-- flop_source      VARCHAR  their source
-- flop_known_pct   DOUBLE   share of the own time in those calls
-- tflops           DOUBLE   their rate, TFLOP/s
-- bytes            HUGEINT  bytes read and written, of the calls where known
-- shape            VARCHAR  its shapes
-- path             VARCHAR  its scopes
CREATE VIEW _named_ops AS
SELECT
    trace_id, device, program,
    _shared_name(name, canonical_name, dedup_name, hlo_category) AS op,
    class, family, calls, sum_us, self_us, flop, flop_source, flop_known_pct,
    tflops, bytes, shape, path
FROM ops
WHERE role = 'op';
