-- One row per device operation of a forward pass: the pass, and the layer if it is in one.
--
-- Operations before the first layer and after the last one belong to the pass, see pass_windows.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   the operation
-- pass_id    BIGINT   pass, from 0
-- layer_id   BIGINT   layer, from 0; NULL outside of layers
CREATE VIEW _kernel_spots AS
WITH inside AS (
    SELECT trace_id, kernel_id, min(pass_id) AS pass_id, min(layer_id) AS layer_id
    FROM layer_kernels
    GROUP BY trace_id, kernel_id
),
around AS (
    SELECT trace_id, kernel_id, min(pass_id) AS pass_id
    FROM window_kernels
    WHERE window_kind = 'extended'
    GROUP BY trace_id, kernel_id
)
SELECT
    trace_id, kernel_id, coalesce(inside.pass_id, around.pass_id) AS pass_id, inside.layer_id
FROM inside
FULL JOIN around USING (trace_id, kernel_id);
