-- One row per device operation whose launch, or whose place on the device, is inside scopes.
-- trace_id   VARCHAR  trace
-- kernel_id  BIGINT   event_id of the operation
-- path       VARCHAR  scopes, joined by =>, the outermost first; NULL if only the phase is known
-- phase      VARCHAR  forward, backward or recompute
CREATE VIEW _launch_scopes AS
SELECT k.trace_id, k.kernel_id, s.path, s.phase
FROM kernels AS k
JOIN _scope_paths AS s
    ON s.trace_id = k.trace_id AND s.id = coalesce(k.issued_by, k.kernel_id)
WHERE s.kind = 'point';
