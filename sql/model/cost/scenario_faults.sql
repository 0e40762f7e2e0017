-- One row per scenario and reason why it cannot run.
--
-- key: scenario, fault
--
-- scenario  VARCHAR  scenario
-- study     VARCHAR  sweep that it is a point of
-- fault     VARCHAR  the reason
CREATE VIEW scenario_faults AS
WITH checked AS (
    SELECT
        s.scenario, s.study,
        unnest([
            CASE WHEN m.model IS NULL THEN 'no such model' END,
            CASE
                WHEN s.hardware IS NOT NULL AND h.hardware IS NULL THEN 'no such hardware'
            END,
            CASE WHEN e.execution IS NULL THEN 'no such execution profile' END,
            CASE
                WHEN q.scenario IS NOT NULL AND (
                    q.linear_size IS NULL OR q.expert_size IS NULL OR q.head_size IS NULL
                    OR q.activation_size IS NULL OR q.kv_size IS NULL OR q.dispatch_size IS NULL
                ) THEN 'no such type'
            END,
            CASE
                WHEN s.phase NOT IN ('prefill', 'decode', 'training') THEN 'no such phase'
            END,
            CASE WHEN least(s.batch, s.seq_len) < 1 THEN 'no tokens' END,
            CASE WHEN s.kv_len < 0 THEN 'fewer than no cached tokens' END,
            CASE WHEN least(s.tp, s.ep, s.dp, s.pp, s.cp, s.microbatches, s.virtual_stages) < 1
                    THEN 'a degree below 1' END,
            CASE WHEN m.num_heads % s.tp <> 0 THEN 'tp does not divide the heads' END,
            CASE WHEN m.num_experts % s.ep <> 0 THEN 'ep does not divide the experts' END,
            CASE WHEN m.num_experts = 0 AND s.ep > 1 THEN 'ep without experts' END,
            CASE WHEN m.num_experts = 0 AND s.top_k IS NOT NULL THEN 'top-k without experts' END,
            CASE
                WHEN m.num_experts > 0 AND s.top_k > m.num_experts
                    THEN format('top-k {} of {} experts', s.top_k, m.num_experts)
                WHEN s.top_k < 1 THEN 'top-k below 1'
            END,
            CASE
                WHEN (s.tp * s.cp * s.dp) % s.ep <> 0
                    THEN 'ep does not divide the ranks, tp x cp x dp'
            END,
            CASE WHEN m.num_layers < s.pp * s.virtual_stages THEN 'more stages than layers' END,
            CASE WHEN s.cp > 1 AND s.phase = 'decode' THEN 'cp shares the tokens of a prompt' END,
            CASE WHEN s.seq_len % s.cp <> 0 THEN 'cp does not divide the new tokens' END,
            CASE
                WHEN s.microbatches % s.pp <> 0 AND s.virtual_stages > 1
                    THEN 'virtual stages need microbatches that pp divides'
            END,
            CASE WHEN s.zero_stage NOT BETWEEN 0 AND 3 THEN 'no such stage of ZeRO' END,
            CASE
                WHEN s.kv_len + s.seq_len > m.max_positions
                    THEN 'longer than the longest context of the model'
            END,
            CASE
                WHEN m.is_encoder AND (s.phase = 'decode' OR s.kv_len > 0)
                    THEN 'an encoder has no cache to decode with'
            END,
            CASE WHEN NOT f.fits THEN 'does not fit the memory' END,
            CASE
                WHEN h.hardware IS NOT NULL AND s.formulas = 'physical'
                    AND (q.gemm_tflops IS NULL OR q.core_tflops IS NULL OR q.head_tflops IS NULL)
                    THEN 'no peak of the chip is known for a type'
            END,
            CASE
                WHEN h.hardware IS NOT NULL AND s.formulas = 'physical' AND q.hbm_gbps IS NULL
                    THEN 'no bandwidth of the chip''s memory is known'
            END,
            CASE
                WHEN h.hardware IS NOT NULL AND s.formulas = 'physical'
                    AND (
                        greatest(s.tp, s.ep, s.pp, s.cp) > 1
                        OR s.phase = 'training' AND s.dp > 1
                    )
                    AND q.link_gbps IS NULL
                    AND (q.scaleout_gbps IS NULL OR coalesce(q.domain_size, 2) > 1)
                    THEN 'no bandwidth of the chip''s links is known'
            END
        ]) AS fault
    FROM _scenario_rows AS s
    LEFT JOIN architectures AS m ON m.model = s.model AND m.fault IS NULL
    LEFT JOIN hardware AS h ON h.hardware = s.hardware
    LEFT JOIN execution_profiles AS e ON e.execution = s.execution
    LEFT JOIN memory_per_gpu AS f ON f.scenario = s.scenario
    LEFT JOIN _priced_scenarios AS q ON q.scenario = s.scenario
)
SELECT scenario, study, fault
FROM checked
WHERE fault IS NOT NULL;
