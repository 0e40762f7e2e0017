-- One row per pass and time basis: how much of the chip's peak its FLOP use.
--
-- MFU is the time that the rank's FLOP take at the peaks of the types they are computed in, over
-- the time: wall is from the first kernel's start to the last one's end, including the parts before
-- the first layer and after the last one; busy is the part with any kernel running; sum adds up the
-- kernels, overlapping ones twice. mapped_us, overhead_us and unmapped_us sum to sum_us, exactly.
-- Unknown FLOP are not included: flop_covered_pct is the share of kernels with known FLOP in the
-- time of those that multiply. FLOP that compute activations again for a backward pass are: with
-- them the share is also called hardware FLOP utilization (HFU). The MFU of the paper on PaLM
-- (Chowdhery et al. 2022, appendix B) leaves them out: without recomputed_flop. Products of an
-- optimizer (Muon's Newton-Schulz iterations) before the next pass are included, too; model_flop
-- and cluster_mfu have none of them.
--
-- In a training step the model's FLOP are three times those of its forward pass, of attention 3.5
-- times: a product is followed by those of the gradients of its input and of its weights. Frozen
-- weights (LoRA) have no gradient, and a capture may end before the backward pass does. So if the
-- FLOP and the phase (kernel_scopes) of all products are known, and the step has fewer by more than
-- 2 %, model_flop has the ratio of backward to forward FLOP that the trace has.
--
-- key: trace_id, device, pass_id, time_basis
--
-- trace_id            VARCHAR  trace
-- rank                INTEGER  rank in the job, NULL if unknown
-- device              INTEGER  device
-- pass_id             BIGINT   pass, from 0
-- phase               VARCHAR  training, prefill, decode or mixed, NULL if unknown
-- time_basis          VARCHAR  wall, busy or sum
-- time_us             DOUBLE   time by that basis, µs
-- kernel_count        BIGINT   kernels
-- sum_us              DOUBLE   sum of their durations, µs
-- mapped_us           DOUBLE   part in kernels whose operator is known
-- overhead_us         DOUBLE   part in communication, copies, fills and preparations
-- unmapped_us         DOUBLE   part in kernels of unknown operator
-- mapped_pct          DOUBLE   share of mapped_us in sum_us
-- flop                DOUBLE   FLOP of the rank
-- template_flop       DOUBLE   part of them taken from the template, not from shapes
-- recomputed_flop     DOUBLE   part of them of phase recompute, see kernel_scopes; NULL if none
--                              is
-- flop_covered_pct    DOUBLE   share of the time of kernels that multiply, or may, whose FLOP are
--                              known
-- peak_us             DOUBLE   time that the FLOP take at the peaks of their types, µs
-- peak_tflops         DOUBLE   effective peak, TFLOP/s
-- tflops              DOUBLE   flop over the time, TFLOP/s
-- mfu                 DOUBLE   peak_us over the time, a fraction
-- bytes               DOUBLE   bytes of memory, of kernels where known
-- bytes_covered_pct   DOUBLE   share of the time of kernels, without communication and waits, whose
--                              bytes are known; below 100, mbu is a lower bound
-- mbu                 DOUBLE   bytes over the time and the bandwidth, a fraction
-- roof_us             DOUBLE   minimum time of the kernels one by one, µs
-- roofline_eff        DOUBLE   roof_us over the time, a fraction
-- model_flop          DOUBLE   FLOP of the whole model for these tokens, by the template, with the
--                              backward pass as above; NULL if layers are missing or the pairs are
--                              unknown
-- gpus                BIGINT   chips that share them: tensor times pipeline parallel
-- cluster_mfu         DOUBLE   model_flop over the time, the chips and the peak, a fraction
-- over_100_causes     VARCHAR  possible reasons where one of these fractions is above 1, separated
--                              by semicolons; NULL if none is
CREATE VIEW pass_mfu AS
WITH ordered AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id, kernel_id, start_ns, end_ns, dur_ns, state,
        counted_flop, flop_source, unit, counted_flop_us, counted_bytes, counted_roof_us,
        peak_gbps, has_flop, is_helper, has_bytes, dtype, category,
        NOT coalesce(is_apart, FALSE) AS is_moving,
        max(end_ns) OVER (
            PARTITION BY trace_id, device, pass_id ORDER BY start_ns, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM _pass_kernel_roofs
    LEFT JOIN (
        SELECT category, TRUE AS is_apart
        FROM category_groups
        WHERE category_group = 'communication' OR category = 'wait'
    ) USING (category)
),
passed AS (
    SELECT
        o.trace_id, o.rank, o.device, o.pass_id, p.direction, count(*) AS kernel_count,
        sum(o.dur_ns) AS sum_ns, max(o.end_ns) - min(o.start_ns) AS wall_ns,
        -- Each adds the time that it extends beyond all that started before it.
        sum(greatest(o.end_ns - greatest(o.start_ns, coalesce(o.before_ns, o.start_ns)), 0))
            AS busy_ns,
        coalesce(sum(o.dur_ns) FILTER (o.state = 'mapped'), 0) AS mapped_ns,
        coalesce(sum(o.dur_ns) FILTER (o.state = 'overhead'), 0) AS overhead_ns,
        coalesce(sum(o.dur_ns) FILTER (o.state = 'unmapped'), 0) AS unmapped_ns,
        sum(o.counted_flop) AS flop,
        sum(o.counted_flop) FILTER (o.flop_source = 'template') AS template_flop,
        -- Of two equal computations XLA may keep the later one's path for a forward pass.
        sum(o.counted_flop) FILTER (
            s.phase = 'recompute' AND p.direction IS DISTINCT FROM 'forward'
        ) AS recomputed_flop,
        -- What autograd does not record in a layer is not trained, but part of the forward pass.
        sum(o.counted_flop) FILTER (
            s.phase = 'forward' OR (s.phase = 'recompute' AND p.direction = 'forward')
            OR (s.phase IS NULL AND o.layer_id IS NOT NULL)
        ) AS forward_flop,
        coalesce(sum(o.counted_flop) FILTER (s.phase = 'backward'), 0) AS backward_flop,
        list(DISTINCT o.flop_source) AS sources, bool_or(o.unit = 'attention') AS has_attention,
        sum(o.counted_flop_us) AS peak_us,
        sum(o.counted_flop) FILTER (o.counted_flop_us IS NOT NULL) AS priced_flop,
        sum(o.counted_bytes) AS bytes, sum(o.counted_roof_us) AS roof_us,
        any_value(o.peak_gbps) AS peak_gbps,
        coalesce(sum(o.dur_ns) FILTER (o.has_flop AND o.dtype IS NOT NULL), 0) AS covered_ns,
        coalesce(sum(o.dur_ns) FILTER (
            o.dtype IS NOT NULL OR (coalesce(c.families, '') <> '' AND NOT o.is_helper)
        ), 0) AS multiplying_ns,
        coalesce(sum(o.dur_ns) FILTER (o.is_moving AND o.has_bytes), 0) AS moved_ns,
        coalesce(sum(o.dur_ns) FILTER (o.is_moving), 0) AS moving_ns
    FROM ordered AS o
    LEFT JOIN operator_categories AS c ON c.category = o.category
    LEFT JOIN kernel_scopes AS s ON s.trace_id = o.trace_id AND s.kernel_id = o.kernel_id
    JOIN passes AS p
        ON p.trace_id = o.trace_id AND p.device = o.device AND p.pass_id = o.pass_id
    GROUP BY o.trace_id, o.rank, o.device, o.pass_id, p.direction
),
models AS (
    SELECT
        u.trace_id, u.device, u.pass_id, any_value(u.tp * coalesce(t.pp, 1)) AS gpus,
        CASE WHEN bool_and(u.has_pairs) THEN sum(u.model_flop) END AS full_flop,
        sum(u.forward_flop) AS forward_flop
    FROM _pass_units AS u
    JOIN traces AS t ON t.trace_id = u.trace_id
    JOIN passes AS p
        ON p.trace_id = u.trace_id AND p.device = u.device
        AND p.pass_id = u.pass_id AND p.complete
    WHERE len(u.ops) = 1
    GROUP BY u.trace_id, u.device, u.pass_id
),
based AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, p.direction, p.kernel_count, p.sum_ns, p.mapped_ns,
        p.overhead_ns, p.unmapped_ns, p.flop, p.template_flop, p.recomputed_flop, p.covered_ns,
        p.multiplying_ns, p.peak_us, p.priced_flop, p.moved_ns, p.moving_ns, p.bytes, p.peak_gbps,
        p.roof_us, p.sources, p.has_attention, m.gpus,
        CASE
            WHEN p.covered_ns = p.multiplying_ns
                AND abs(p.forward_flop + p.backward_flop + coalesce(p.recomputed_flop, 0) - p.flop)
                    < 0.001 * p.flop
                THEN m.forward_flop * (1 + p.backward_flop / p.forward_flop)
        END AS run_flop,
        CASE WHEN run_flop < 0.98 * m.full_flop THEN run_flop ELSE m.full_flop END AS model_flop,
        unnest([
            {'basis': 'wall', 'time_ns': p.wall_ns}, {'basis': 'busy', 'time_ns': p.busy_ns},
            {'basis': 'sum', 'time_ns': p.sum_ns}
        ]) AS b
    FROM passed AS p
    LEFT JOIN models AS m
        ON m.trace_id = p.trace_id AND m.device = p.device AND m.pass_id = p.pass_id
),
shares AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id,
        -- No workload is that of a backward pass alone.
        CASE WHEN p.direction IS NULL THEN w.phase ELSE 'training' END AS phase,
        p.b.basis AS time_basis,
        p.b.time_ns / 1000.0 AS time_us, p.kernel_count, p.sum_ns / 1000.0 AS sum_us,
        p.mapped_ns / 1000.0 AS mapped_us, p.overhead_ns / 1000.0 AS overhead_us,
        p.unmapped_ns / 1000.0 AS unmapped_us,
        100.0 * p.mapped_ns / nullif(p.sum_ns, 0) AS mapped_pct,
        p.flop, p.template_flop, p.recomputed_flop,
        100.0 * p.covered_ns / nullif(p.multiplying_ns, 0) AS flop_covered_pct, p.peak_us,
        p.priced_flop / nullif(p.peak_us, 0) / 1e6 AS peak_tflops,
        p.flop / nullif(p.b.time_ns, 0) / 1e3 AS tflops,
        p.peak_us * 1e3 / nullif(p.b.time_ns, 0) AS mfu, p.bytes,
        100.0 * p.moved_ns / nullif(p.moving_ns, 0) AS bytes_covered_pct,
        p.bytes / nullif(p.b.time_ns, 0) / p.peak_gbps AS mbu, p.roof_us,
        p.roof_us * 1e3 / nullif(p.b.time_ns, 0) AS roofline_eff, p.model_flop, p.gpus,
        p.model_flop / nullif(p.b.time_ns, 0) / 1e3 / p.gpus
        / nullif(p.priced_flop / nullif(p.peak_us, 0) / 1e6, 0) AS cluster_mfu, p.sources,
        p.has_attention
    FROM based AS p
    LEFT JOIN pass_workloads AS w
        ON w.trace_id = p.trace_id AND w.device = p.device AND w.pass_id = p.pass_id
)
SELECT
    trace_id, rank, device, pass_id, phase, time_basis, time_us, kernel_count, sum_us, mapped_us,
    overhead_us, unmapped_us, mapped_pct, flop, template_flop, recomputed_flop, flop_covered_pct,
    peak_us, peak_tflops, tflops, mfu, bytes, bytes_covered_pct, mbu, roof_us, roofline_eff,
    model_flop, gpus, cluster_mfu,
    reasons_over_100(list_concat(
        _excesses(mfu, mbu, roofline_eff, sources, has_attention),
        CASE WHEN cluster_mfu > 1 THEN ['always', 'any', 'template'] END,
        -- A sum of durations counts overlapping kernels as often as the sum of their bounds does.
        CASE
            WHEN greatest(mfu, mbu, roofline_eff, cluster_mfu) > 1 AND time_basis <> 'sum'
                THEN ['overlap']
        END
    )) AS over_100_causes
FROM shares;
