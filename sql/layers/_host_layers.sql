-- One row per stretch of host time in which a layer, or a part of one, launches its kernels: the
-- calls of modules where a trace shows them, else annotations. Of several threads of a process
-- that tell of layers, the one that tells most counts.
--
-- Materialised per trace.
--
-- trace_id     VARCHAR  trace
-- pid          VARCHAR  process
-- tid          VARCHAR  thread
-- start_ns     BIGINT   start
-- end_ns       BIGINT   end
-- series       VARCHAR  the model: module or annotation around its layers
-- call_id      BIGINT   call of the model, from 0
-- layer_id     BIGINT   layer, from 0
-- num_layers   BIGINT   layers of the model
-- component    VARCHAR  part of the layer, NULL where the whole layer is one stretch
-- direction    VARCHAR  forward, backward or weight gradient, NULL where annotations do not tell
-- pass_source  VARCHAR  module scopes or annotations
CREATE VIEW _host_layers AS
WITH told AS (
    SELECT
        trace_id, pid, tid, start_ns, end_ns, series, call_id, layer_id, num_layers,
        CAST(NULL AS VARCHAR) AS component, CAST(NULL AS VARCHAR) AS direction,
        'module scopes' AS pass_source
    FROM _module_layers
    UNION ALL
    SELECT
        trace_id, pid, tid, start_ns, end_ns, series, call_id, layer_id, num_layers, component,
        direction, 'annotations' AS pass_source
    FROM _annotated_layers
),
threads AS (
    SELECT trace_id, pid, tid, pass_source
    FROM told
    GROUP BY trace_id, pid, tid, pass_source
    QUALIFY row_number() OVER (
        PARTITION BY trace_id, pid ORDER BY pass_source DESC, count(*) DESC, tid
    ) = 1
)
SELECT
    trace_id, pid, tid, start_ns, end_ns, series, call_id, layer_id, num_layers, component,
    direction, pass_source
FROM told
JOIN threads USING (trace_id, pid, tid, pass_source);
