-- One row per scenario of the reference report's formulas: what is resident on a chip.
--
-- Its errors are kept: the budget has 1024³ bytes to a GB; the KV cache is not divided by TP, the
-- optimizer's state not by data parallelism; gradients have the weights' type.
--
-- instead of: compat._resident_bytes
--
-- scenario_no       BIGINT  the scenario's row
-- other_bytes       DOUBLE  weights without routed experts
-- expert_bytes      DOUBLE  weights of routed experts
-- kv_bytes          DOUBLE  KV cache after the pass
-- gradient_bytes    DOUBLE  gradients
-- optimizer_bytes   DOUBLE  moments and master weights
-- activation_bytes  DOUBLE  activations saved for the backward pass
-- sequence_bytes    DOUBLE  part of it that one more sequence adds
-- budget_bytes      DOUBLE  memory of the chip
CREATE VIEW _compat_report_memory AS
WITH held AS (
    SELECT
        i.*, phase = 'training' AS trains, other_parameters / tp AS other_held,
        routed_parameters / (tp * ep) AS routed_held,
        c.optimizer_bytes + c.master_bytes AS state_bytes, c.saved_activations
    FROM _compat_report_inputs AS i
    CROSS JOIN _compat_report_constants AS c
),
sequences AS (
    SELECT
        *,
        CASE
            WHEN trains THEN saved_activations * seq_len * hidden * layers * activation_bytes
            WHEN is_decode THEN kv_len * kv_elements * layers * kv_bytes
            ELSE seq_len * kv_elements * layers * kv_bytes
        END AS one_sequence
    FROM held
)
SELECT
    point AS scenario_no,
    other_held * weight_bytes AS other_bytes,
    routed_held * weight_bytes AS expert_bytes,
    CASE WHEN trains THEN 0 ELSE batch * one_sequence END AS kv_bytes,
    CASE WHEN trains THEN (other_held + routed_held) * weight_bytes ELSE 0 END AS gradient_bytes,
    CASE WHEN trains THEN (other_held + routed_held) * state_bytes ELSE 0 END AS optimizer_bytes,
    CASE WHEN trains THEN batch * one_sequence ELSE 0 END AS activation_bytes,
    one_sequence AS sequence_bytes,
    memory_bytes AS budget_bytes
FROM sequences;
