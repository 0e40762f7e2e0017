-- The dimensions in a list of shapes as _op_shapes writes it, each a list: [[128,512], [64], []] of
-- 128,512|64|[]; NULL where one is no number.
CREATE MACRO _dims(shapes) AS
TRY_CAST('[[' || replace(replace(shapes, '[]', ''), '|', '], [') || ']]' AS BIGINT[][]);
