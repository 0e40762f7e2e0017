-- A layer is busy for no longer than it lasts, and no longer than its kernels add up to.
-- trace_id  VARCHAR  trace
-- rank      INTEGER  rank in the job
-- device    INTEGER  device
-- pass_id   BIGINT   pass
-- layer_id  BIGINT   layer that breaks the law
CREATE VIEW _busy_fits_in_the_wall AS
SELECT trace_id, rank, device, pass_id, layer_id
FROM layers
WHERE busy_us > wall_us + 0.0005 OR busy_us > sum_us + 0.0005;
