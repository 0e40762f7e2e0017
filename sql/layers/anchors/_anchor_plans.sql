-- One row per trace, rank and device with anchors: the pattern chosen, and how many anchors make a
-- pass.
-- trace_id          VARCHAR    trace
-- series            VARCHAR    the model, empty if the trace has only one
-- device            INTEGER    device
-- stream            BIGINT     stream the anchors run on
-- pattern           VARCHAR    the pattern
-- pattern_source    VARCHAR    user, profile or detected
-- anchor_names      VARCHAR[]  distinct kernel names that are anchors
-- anchor_count      BIGINT     anchors on the stream
-- role              VARCHAR    begin, inside or end of its block
-- blocks_per_layer  INTEGER    anchors per layer
-- half_labels       VARCHAR[]  label of each block of a layer
-- num_layers        INTEGER    layers of a pass, NULL if unknown: no passes then
-- extra             INTEGER    anchors of a pass outside its layers, 0 or 1
-- is_late           BOOLEAN    the pattern misses the first anchor of each pass
-- stride            BIGINT     anchors per pass, NULL if the layers are unknown
-- missed            BIGINT     anchors of the first pass before the capture
-- remainder         BIGINT     anchors left over by whole passes and the first, partial one
-- is_vague          BOOLEAN    passes may be longer than the capture shows
-- pass_source       VARCHAR    how the pass boundaries were found
CREATE VIEW _anchor_plans AS
SELECT
    trace_id, series, device, stream, pattern, pattern_source, anchor_names, anchor_count, role,
    blocks_per_layer, half_labels, num_layers, extra, is_late, stride, missed, remainder,
    is_vague, pass_source
FROM _anchor_trials
WHERE is_chosen;
