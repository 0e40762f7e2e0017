-- One row per scenario with given times and type that its products compute in: the amount of work.
-- request      VARCHAR  scenario
-- dtype        VARCHAR  type of the products
-- peak_tflops  DOUBLE   the chip's peak in it; NULL if unknown
-- flop_rank    DOUBLE   their FLOP on one rank, in all layers of a pipeline stage
CREATE VIEW _timed_types AS
SELECT request, dtype, peak_tflops, sum(layers * flop_rank / stages) AS flop_rank
FROM timing_template
WHERE flop > 0
GROUP BY request, dtype, peak_tflops;
