-- One row per device operation whose own event has its work: XLA operations have FLOP and bytes,
-- copies and fills the bytes that they copy or fill. An XLA operation that begins or ends a
-- transfer beside the operations (copy-start, copy-done) has no bytes: XLA gives them to both, and
-- the transfer takes another time than either.
--
-- A copy within a device both reads and writes them; between host and device, device memory moves
-- them once, as with a fill.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
-- flop       BIGINT   FLOP, NULL for copies and fills
-- bytes      DOUBLE   bytes of device memory read and written, NULL if unknown
CREATE VIEW _profiled_works AS
WITH given AS (
    SELECT
        trace_id, event_id AS kernel_id, name,
        coalesce(
            TRY_CAST(args ->> '$.model_flops' AS BIGINT), TRY_CAST(args ->> '$.flops' AS BIGINT)
        ) AS flop,
        TRY_CAST(args ->> '$.bytes_accessed' AS DOUBLE) AS accessed,
        args ->> '$.hlo_category' AS hlo_category,
        TRY_CAST(args ->> '$.bytes' AS DOUBLE) AS copied
    FROM events
    WHERE
        lane = 'device' AND dur_ns IS NOT NULL
        AND (contains(args, '"bytes_accessed"') OR contains(args, '"bytes"'))
)
SELECT
    trace_id, kernel_id, flop,
    CASE
        WHEN is_async IS NOT TRUE
            THEN coalesce(accessed, copied * CASE WHEN contains(name, 'DtoD') THEN 2 ELSE 1 END)
    END AS bytes
FROM given
LEFT JOIN hlo_categories USING (hlo_category)
WHERE flop IS NOT NULL OR accessed IS NOT NULL OR copied IS NOT NULL;
