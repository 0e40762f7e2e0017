-- One row per number or word about the model, the chip and the workload of a model report.
--
-- fact   VARCHAR  name, as in report_facts
-- value  DOUBLE   the number; NULL for words, or if missing
-- words  VARCHAR  the words; NULL for a number
-- unit   VARCHAR  unit of the number
CREATE VIEW _report_model_facts AS
WITH numbers AS (
    SELECT unnest([
        {'fact': 'active_parameters', 'value': a.active, 'unit': 'parameters'},
        {'fact': 'active_embedded', 'value': a.active_embedded, 'unit': 'parameters'},
        {'fact': 'published_active', 'value': 1e9 * a.published_active_b, 'unit': 'parameters'},
        {'fact': 'active_difference_pct', 'value': a.difference_pct, 'unit': '%'},
        {'fact': 'ranks', 'value': w.tp * w.dp * w.pp, 'unit': 'chips'},
        {'fact': 'batch', 'value': w.batch, 'unit': 'sequences'},
        {'fact': 'seq_len', 'value': w.seq_len, 'unit': 'tokens'},
        {'fact': 'kv_len', 'value': w.kv_len, 'unit': 'tokens'}
    ], max_depth := 2)
    FROM _report_workload AS w
    JOIN active_parameters AS a USING (model)
),
named AS (
    SELECT unnest([
        {'fact': 'model_name', 'words': coalesce(m.name, m.model)},
        {'fact': 'model_source', 'words': coalesce(m.source, 'its config.json')},
        {'fact': 'model_revision', 'words': coalesce(m.source_revision, 'not recorded')},
        {'fact': 'chip_name', 'words': coalesce(h.name, h.hardware)},
        {
            'fact': 'active_agrees',
            'words': CASE a.agrees WHEN TRUE THEN 'yes' WHEN FALSE THEN 'no' ELSE 'unknown' END
        },
        {'fact': 'main', 'words': w.main},
        {'fact': 'base', 'words': w.base},
        {'fact': 'formulas', 'words': w.formulas},
        {
            'fact': 'layout',
            'words': concat('TP = ', w.tp, ', EP = ', w.ep, ', DP = ', w.dp, ', PP = ', w.pp)
        }
    ], max_depth := 2)
    FROM _report_workload AS w
    JOIN architectures AS m ON m.model = w.model
    JOIN active_parameters AS a ON a.model = w.model
    JOIN hardware AS h ON h.hardware = w.chips[1]
)
SELECT fact, CAST(value AS DOUBLE) AS value, CAST(NULL AS VARCHAR) AS words, unit FROM numbers
UNION ALL
SELECT fact, NULL, words, NULL FROM named;
