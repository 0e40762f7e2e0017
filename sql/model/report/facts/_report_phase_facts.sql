-- One row per number or word about a phase at the anchor of a model report: `decode_ms`, and
-- `decode_base_ms` with the base profile.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_phase_facts AS
WITH points AS (
    SELECT
        *,
        -- Peak of the mix of types that a phase computes in, over the bandwidth of its times.
        tflops / nullif(mfu, 0) * 1e12
        / nullif(1e3 * hbm_bytes / nullif(hbm_ms, 0), 0) AS knee,
        list_sort([compute_ms, hbm_ms, net_ms])[2] AS second_ms,
        phase || CASE WHEN is_main THEN '_' ELSE '_base_' END AS prefix
    FROM _report_points
    WHERE study = 'report anchor'
),
numbers AS (
    SELECT prefix, unnest([
        {'fact': 'ms', 'value': time_ms, 'unit': 'ms'},
        {'fact': 'serial_ms', 'value': serial_ms, 'unit': 'ms'},
        {'fact': 'compute_ms', 'value': compute_ms, 'unit': 'ms'},
        {'fact': 'hbm_ms', 'value': hbm_ms, 'unit': 'ms'},
        {'fact': 'net_ms', 'value': net_ms, 'unit': 'ms'},
        {'fact': 'second_ms', 'value': second_ms, 'unit': 'ms'},
        {'fact': 'net_gb', 'value': net_bytes, 'unit': 'bytes'},
        {'fact': 'intensity', 'value': intensity, 'unit': 'FLOP/byte'},
        {'fact': 'knee', 'value': knee, 'unit': 'FLOP/byte'},
        {'fact': 'weights_pct', 'value': 100 * weight_bytes / hbm_bytes, 'unit': '%'},
        {'fact': 'activations_pct', 'value': 100 * activation_bytes / hbm_bytes, 'unit': '%'},
        {'fact': 'kv_pct', 'value': 100 * kv_bytes / hbm_bytes, 'unit': '%'},
        {'fact': 'temporary_pct', 'value': 100 * temporary_bytes / hbm_bytes, 'unit': '%'},
        {'fact': 'total_gb', 'value': total_bytes, 'unit': 'bytes'},
        {'fact': 'budget_gb', 'value': budget_bytes, 'unit': 'bytes'},
        {'fact': 'max_batch', 'value': max_batch, 'unit': 'sequences'},
        {'fact': 'tokens', 'value': batch * seq_len, 'unit': 'tokens'},
        {'fact': 'overlap_gain_pct', 'value': 100 * (serial_ms / time_ms - 1), 'unit': '%'},
        {
            'fact': 'relief_gain_pct',
            'value': 100 * (time_ms / nullif(second_ms, 0) - 1),
            'unit': '%'
        }
    ], max_depth := 2)
    FROM points
),
named AS (
    SELECT prefix, unnest([
        {'fact': 'bound', 'words': bound},
        {
            'fact': 'side',
            'words': CASE
                WHEN intensity >= knee THEN 'right of the knee, under the peak'
                ELSE 'left of the knee, under the memory''s slope'
            END
        },
        {
            'fact': 'fits',
            'words': CASE fits WHEN TRUE THEN 'yes' WHEN FALSE THEN 'no' ELSE 'unknown' END
        }
    ], max_depth := 2)
    FROM points
)
SELECT prefix || fact AS fact, value, CAST(NULL AS VARCHAR) AS words, unit FROM numbers
UNION ALL
SELECT prefix || fact, NULL, words, NULL FROM named;
