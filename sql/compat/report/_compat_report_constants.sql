-- One row: the constants of the reference report, a column each.
--
-- training_flop_factor  DOUBLE  FLOP of training over those of prefill
-- training_byte_factor  DOUBLE  the same for bytes in memory
-- element_bytes         DOUBLE  bytes of an element whose type is not given
-- optimizer_bytes       DOUBLE  two moments of a parameter, bytes
-- master_bytes          DOUBLE  its copy in FP32, bytes
-- saved_activations     DOUBLE  tensors that a layer keeps for the backward pass
-- scale_floor           DOUBLE  smallest scale of a width
-- frontier_alpha        DOUBLE  share of memory and network time that compute must take
-- frontier_residency    DOUBLE  times that a weight serves once it is read
-- frontier_max_batch    DOUBLE  largest batch per chip that is tried
CREATE VIEW _compat_report_constants AS
WITH named AS (
    SELECT map(list(constant), list(value)) AS value_of FROM compat_report_constants
)
SELECT
    value_of['training_flop_factor'] AS training_flop_factor,
    value_of['training_byte_factor'] AS training_byte_factor,
    value_of['element_bytes'] AS element_bytes,
    value_of['optimizer_bytes'] AS optimizer_bytes,
    value_of['master_bytes'] AS master_bytes,
    value_of['saved_activations'] AS saved_activations,
    value_of['scale_floor'] AS scale_floor,
    value_of['frontier_alpha'] AS frontier_alpha,
    value_of['frontier_residency'] AS frontier_residency,
    value_of['frontier_max_batch'] AS frontier_max_batch
FROM named;
