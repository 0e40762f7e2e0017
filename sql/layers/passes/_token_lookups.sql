-- One row per gather on a stream with beats that looks up an embedding, by the operator around its
-- launch: there tokens enter the model.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the kernel
CREATE VIEW _token_lookups AS
WITH lookups AS (
    SELECT trace_id, start_ns, end_ns
    FROM events
    WHERE lane = 'host' AND name = 'aten::embedding'
)
SELECT b.trace_id, b.kernel_id
FROM (SELECT trace_id, kernel_id, issued_ns FROM _beats WHERE category = 'index') AS b
ASOF JOIN lookups AS l ON l.trace_id = b.trace_id AND l.start_ns <= b.issued_ns
WHERE b.issued_ns < l.end_ns;
