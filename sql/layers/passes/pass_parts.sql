-- One row per pass and part outside its layers: the prologue before them (embedding), the part
-- between the model's layers and those that draft tokens, the epilogue after them (final norm,
-- head, sampling; in training also the loss, and backward kernels and the optimizer where no pass
-- has them) and the idle gap up to the next pass's first operation. Parts without a kernel or
-- without time have no row.
--
-- key: trace_id, device, pass_id, part
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device the pass ran on
-- pass_id       BIGINT   pass, from 0 in time order
-- series        VARCHAR  model that the pass is of
-- part          VARCHAR  prologue, between, epilogue or gap
-- start_ns      BIGINT   start of the part
-- end_ns        BIGINT   end of the part
-- wall_us       DOUBLE   from that start to that end
-- sum_us        DOUBLE   sum of the durations of its kernels, copies and fills, 0 for a gap
-- kernel_count  BIGINT   kernels, without copies and fills of memory, 0 for a gap
-- memory_count  BIGINT   copies and fills of memory on the stream of the layers
-- memory_us     DOUBLE   sum of their durations, part of sum_us
CREATE VIEW pass_parts AS
SELECT
    trace_id, rank, device, pass_id, any_value(series) AS series, part,
    min(start_ns) AS start_ns, max(end_ns) AS end_ns,
    (max(end_ns) - min(start_ns)) / 1000.0 AS wall_us, sum(dur_ns) / 1000.0 AS sum_us,
    count(*) FILTER (kind <> 'memory') AS kernel_count,
    count(*) FILTER (kind = 'memory') AS memory_count,
    coalesce(sum(dur_ns) FILTER (kind = 'memory'), 0) / 1000.0 AS memory_us
FROM _part_kernels
GROUP BY trace_id, rank, device, pass_id, part;
