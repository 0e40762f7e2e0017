-- One row per forward pass of a trace whose model is known, kind of layer and part of its time:
-- the measured time, and the minimum time by the model.
--
-- Parts are operators or their fusions; overhead by kind; work of unknown operators; overlap, the
-- time in which several kernels run, as a negative; and idle time. measured_ns of a pass sum to the
-- time from its first kernel to its last one's end, exactly. An operator of the model that no
-- kernel is known to run is a part without measured time. In training the model's figures are those
-- of the forward pass; its backward kernels are part of the time outside layers. Efficiency above 1
-- is an error of the model, the settings or the matching, shown as it is: see over_100_causes.
--
-- The model's figures cover as many layers of a kind as the pass ran: a trace may be of one
-- pipeline stage, or of a truncated model. A kind of layer that it does not run has no row, except
-- for those of its kernels; the part outside layers is the whole model's, and missing on a stage
-- that does not have it. Layers beyond the model's are not invented.
--
-- key: trace_id, device, pass_id, layer_kind?, part
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- pass_id       BIGINT   pass
-- layer_kind    VARCHAR  kind of layer, ends for the part outside layers; NULL for overlap and idle
-- part          VARCHAR  operator, several fused, kind of overhead, other, overlap or idle
-- state         VARCHAR  mapped, missing (no kernel is known to run it), overhead, unmapped,
--                        overlap or idle
-- kernel_count  BIGINT   kernels
-- measured_ns   BIGINT   sum of their durations, ns; NULL beyond 64 bits
-- measured_ms   DOUBLE   the same in ms
-- layers        BIGINT   layers of the kind that the model's figures cover: those of the pass; NULL
--                        if the model has no such part
-- model_layers  BIGINT   layers of the kind that the whole model has
-- modelled_ms   DOUBLE   minimum time by the model, of these layers; NULL if the peak or the
--                        bandwidth is unknown
-- efficiency    DOUBLE   modelled over measured, a fraction
-- flag_over_100 BOOLEAN  efficiency is above 1
-- gap_ms        DOUBLE   measured minus modelled
-- flop          DOUBLE   FLOP by the model, of these layers, one rank
-- bytes         DOUBLE   bytes of memory by the model
-- tflops        DOUBLE   flop over measured time, TFLOP/s
-- gbps          DOUBLE   bytes over measured time, GB/s
-- bound         VARCHAR  compute or memory: what bounds the modelled time
-- over_100_causes  VARCHAR  possible reasons for an efficiency above 1, separated by semicolons
CREATE VIEW measured_vs_modelled AS
WITH passes_known AS (
    SELECT trace_id, rank, device, pass_id, scenario, hardware FROM _pass_scenarios
),
measured AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, m.layer_kind,
        coalesce(r.unit, 'other') AS part,
        CASE WHEN r.unit IS NULL THEN 'unmapped' ELSE r.state END AS state,
        count(*) AS kernel_count, sum(r.dur_ns) AS spent_ns,
        bool_or(r.unit = 'rope' AND contains(lower(m.display_name), 'norm')) AS norms_and_rotates
    FROM passes_known AS p
    JOIN _pass_kernel_roofs AS r
        ON r.trace_id = p.trace_id AND r.device = p.device
        AND r.pass_id = p.pass_id
    JOIN _kernel_maps AS m ON m.trace_id = r.trace_id AND m.kernel_id = r.kernel_id
    GROUP BY ALL
),
-- Layers of each kind that a pass runs.
traced AS (
    SELECT
        p.trace_id, p.device, p.pass_id, m.layer_kind, count(DISTINCT m.layer_id) AS layers
    FROM passes_known AS p
    JOIN _kernel_maps AS m
        ON m.trace_id = p.trace_id AND m.device = p.device
        AND m.pass_id = p.pass_id
    WHERE m.layer_id IS NOT NULL
    GROUP BY p.trace_id, p.device, p.pass_id, m.layer_kind
),
units AS (
    SELECT
        u.trace_id, u.device, u.pass_id, u.layer_kind, u.unit, len(u.ops) AS size,
        unnest(u.ops) AS op
    FROM _pass_units AS u
    SEMI JOIN measured AS m
        ON m.trace_id = u.trace_id AND m.device = u.device
        AND m.pass_id = u.pass_id AND m.layer_kind = u.layer_kind AND m.part = u.unit
),
-- An operator counts where it was measured: alone, else in the smallest fusion.
homes AS (
    SELECT
        trace_id, device, pass_id, layer_kind, op,
        arg_min(unit, (CASE WHEN unit = op THEN 0 ELSE size END, unit)) AS unit
    FROM units
    GROUP BY trace_id, device, pass_id, layer_kind, op
),
placed AS (
    SELECT
        p.trace_id, p.rank, p.device, p.pass_id, o.layer_kind, o.layers AS model_layers,
        CASE
            WHEN o.layer_kind IN ('ends', 'mtp') THEN o.layers
            ELSE least(o.layers, coalesce(t.layers, 0))
        END AS layers,
        o.flop_rank, o.flop_us,
        -- An operator that fusion would hide moves its bytes if it ran as a kernel of its own.
        CASE WHEN u.unit = o.op THEN coalesce(o.alone_bytes, 0) ELSE 0 END
        + o.weight_bytes + o.activation_bytes + o.kv_bytes + o.temporary_bytes AS bytes,
        CASE WHEN u.unit = o.op THEN coalesce(o.alone_bytes, 0) ELSE 0 END / h.hbm_gbps / 1e3
        + o.hbm_us AS hbm_us,
        coalesce(u.unit, CASE WHEN o.category = 'norm' THEN 'norm' ELSE o.op END) AS part
    FROM passes_known AS p
    JOIN of_passes.operators AS o ON o.scenario = p.scenario
    LEFT JOIN hardware AS h ON h.hardware = p.hardware
    LEFT JOIN traced AS t
        ON t.trace_id = p.trace_id AND t.device = p.device
        AND t.pass_id = p.pass_id AND t.layer_kind = o.layer_kind
    LEFT JOIN homes AS u
        ON u.trace_id = p.trace_id AND u.device = p.device
        AND u.pass_id = p.pass_id AND u.layer_kind = o.layer_kind AND u.op = o.op
    LEFT JOIN measured AS m
        ON m.trace_id = p.trace_id AND m.device = p.device
        AND m.pass_id = p.pass_id AND m.layer_kind = o.layer_kind AND m.norms_and_rotates
    -- The kernel that rotates queries and keys moves them; one that norms them as well, once.
    WHERE o.category <> 'network' AND (o.op <> 'qk_norm' OR m.trace_id IS NULL)
),
modelled AS (
    SELECT
        trace_id, rank, device, pass_id, layer_kind, part, any_value(layers) AS layers,
        any_value(model_layers) AS model_layers, sum(flop_rank) AS flop, sum(bytes) AS bytes,
        -- NULL if a peak is missing.
        CASE WHEN bool_and(flop_rank = 0 OR flop_us IS NOT NULL) THEN coalesce(sum(flop_us), 0) END
            AS flop_us,
        sum(hbm_us) AS hbm_us
    FROM placed
    WHERE layers > 0
    GROUP BY trace_id, rank, device, pass_id, layer_kind, part
    -- Operators done within others take no time of their own.
    HAVING sum(hbm_us) IS NULL OR sum(hbm_us) > 0 OR sum(flop_rank) > 0
),
rests AS (
    SELECT
        trace_id, rank, device, pass_id,
        CAST(round(1e3 * max(time_us) FILTER (time_basis = 'wall')) AS HUGEINT) AS wall_ns,
        CAST(round(1e3 * max(time_us) FILTER (time_basis = 'busy')) AS HUGEINT) AS busy_ns,
        CAST(round(1e3 * max(time_us) FILTER (time_basis = 'sum')) AS HUGEINT) AS sum_ns
    FROM pass_mfu
    SEMI JOIN passes_known AS p
        ON p.trace_id = pass_mfu.trace_id AND p.device = pass_mfu.device
        AND p.pass_id = pass_mfu.pass_id
    GROUP BY trace_id, rank, device, pass_id
),
parts AS (
    SELECT
        coalesce(a.trace_id, b.trace_id) AS trace_id, coalesce(a.rank, b.rank) AS rank,
        coalesce(a.device, b.device) AS device, coalesce(a.pass_id, b.pass_id) AS pass_id,
        coalesce(a.layer_kind, b.layer_kind) AS layer_kind, coalesce(a.part, b.part) AS part,
        coalesce(a.state, 'missing') AS state, coalesce(kernel_count, 0) AS kernel_count,
        coalesce(spent_ns, 0) AS spent_ns, layers, model_layers,
        CASE WHEN flop_us + hbm_us IS NOT NULL THEN layers * greatest(flop_us, hbm_us) / 1e3 END
            AS modelled_ms,
        layers * flop AS flop,
        layers * bytes AS bytes,
        CASE WHEN flop_us >= hbm_us THEN 'compute' WHEN hbm_us > flop_us THEN 'memory' END AS bound
    FROM measured AS a
    FULL JOIN modelled AS b
        ON b.trace_id = a.trace_id AND b.device = a.device
        AND b.pass_id = a.pass_id AND b.layer_kind = a.layer_kind AND b.part = a.part
        AND a.state = 'mapped'
    UNION ALL
    SELECT
        trace_id, rank, device, pass_id, NULL, 'overlap', 'overlap', 0, busy_ns - sum_ns, NULL,
        NULL, NULL, NULL, NULL, NULL
    FROM rests
    UNION ALL
    SELECT
        trace_id, rank, device, pass_id, NULL, 'idle', 'idle', 0, wall_ns - busy_ns, NULL, NULL,
        NULL, NULL, NULL, NULL
    FROM rests
)
SELECT
    trace_id, rank, device, pass_id, layer_kind, part, state, kernel_count,
    TRY_CAST(spent_ns AS BIGINT) AS measured_ns, spent_ns / 1e6 AS measured_ms, layers,
    model_layers, modelled_ms, 1e6 * modelled_ms / nullif(spent_ns, 0) AS efficiency,
    1e6 * modelled_ms / nullif(spent_ns, 0) > 1 AS flag_over_100,
    spent_ns / 1e6 - modelled_ms AS gap_ms, flop, bytes,
    flop / nullif(spent_ns, 0) / 1e3 AS tflops, bytes / nullif(spent_ns, 0) AS gbps, bound,
    reasons_over_100(CASE
        WHEN 1e6 * modelled_ms / nullif(spent_ns, 0) > 1
            THEN list_concat(
                ['always', 'template', 'annotation', 'shape'],
                CASE WHEN bound = 'compute' THEN ['any'] ELSE ['memory'] END,
                CASE WHEN contains(part, 'attention') THEN ['attention'] END
            )
    END) AS over_100_causes
FROM parts;
