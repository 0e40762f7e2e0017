-- One row per device operation of a device that runs several models in turn (see _model_turns): the
-- model that it belongs to.
--
-- stored: per trace
--
-- trace_id   VARCHAR  trace
-- device     INTEGER  device
-- kernel_id  BIGINT   the operation
-- series     VARCHAR  the model, NULL if the capture cuts its stretch
-- turn_ns    BIGINT   start of that stretch's first kernel: identifies the stretch on its device
-- call_ns    BIGINT   start of the call of compiled code around its launch, NULL if unknown
-- module     VARCHAR  outermost module that launched it
CREATE VIEW _turned_kernels AS
SELECT k.trace_id, k.device, k.kernel_id, t.series, t.from_ns AS turn_ns, c.call_ns, c.module
FROM kernels AS k
ASOF JOIN _model_turns AS t
    ON t.trace_id = k.trace_id AND t.device = k.device AND t.from_ns <= k.start_ns
LEFT JOIN _called_kernels AS c ON c.trace_id = k.trace_id AND c.kernel_id = k.kernel_id
-- Operations that no model launched stay unassigned.
WHERE c.kernel_id IS NULL OR c.series IS NOT NULL;
