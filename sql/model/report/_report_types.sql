-- One row per chip of a model report and type that its products compute in.
--
-- hardware    VARCHAR  chip
-- dtype       VARCHAR  type
-- lacks_peak  BOOLEAN  whether the chip's peak in it is unknown
CREATE VIEW _report_types AS
SELECT s.hardware, o.dtype, bool_or(o.flop_us IS NULL) AS lacks_peak
FROM operators AS o
JOIN scenarios AS s USING (scenario)
WHERE s.study IN ('report anchor', 'report chips') AND o.flop_rank > 0
GROUP BY s.hardware, o.dtype;
