-- One row per anchor of an Ascend device: what lies between the previous anchor and this one, and
-- whether that separates two passes or belongs to one layer. A head or sampling kernel, an exchange
-- between pipeline stages, or another run of ascending starts in the file separates passes, unless
-- it is between most anchors; so does another step of the profiler, and a long idle time, if there
-- are more norms than between two layers (the final one) or nothing else separates passes. If
-- layers have norms, anchors with no norm between them belong to one layer: chunks of a long
-- prompt.
CREATE VIEW _ascend_stretches AS
WITH said_steps AS (
    SELECT a.trace_id, a.kernel_id, a.step_id, r.block
    FROM ascend_kernels AS a
    JOIN _ascend_marks AS m
        ON m.trace_id = a.trace_id AND m.kernel_id = a.kernel_id AND m.mark = 'anchor'
    LEFT JOIN _window_rows AS r ON r.trace_id = a.trace_id AND r.kernel_id = a.kernel_id
),
gathered AS (
    SELECT
        m.trace_id, m.rank, m.device, m.stretch, max(m.idle_ns) AS idle_ns,
        max(m.kernel_id) FILTER (m.mark = 'anchor') AS kernel_id,
        max(m.seq) FILTER (m.mark = 'anchor') AS seq,
        coalesce(bool_or(m.mark = 'head'), FALSE) AS has_head,
        coalesce(bool_or(m.mark = 'tail'), FALSE) AS has_tail,
        coalesce(bool_or(m.mark = 'receive'), FALSE) AS has_receive,
        coalesce(bool_or(m.mark IN ('receive', 'send')), FALSE) AS has_exchange,
        count(*) FILTER (m.mark IN ('residual', 'closing')) AS residuals,
        count(*) FILTER (m.mark IN ('residual', 'closing', 'norm')) AS norms
    FROM _ascend_marks AS m
    GROUP BY m.trace_id, m.rank, m.device, m.stretch
),
compared AS (
    SELECT
        g.*, g.stretch > 0 AND g.kernel_id IS NOT NULL AS is_inner,
        coalesce(s.step_id <> lag(s.step_id) OVER lane, FALSE) AS is_step,
        coalesce(s.block <> lag(s.block) OVER lane, FALSE) AS is_block,
        g.idle_ns > t.threshold_ns AS is_long
    FROM gathered AS g
    LEFT JOIN said_steps AS s ON s.trace_id = g.trace_id AND s.kernel_id = g.kernel_id
    LEFT JOIN _gap_thresholds AS t ON t.trace_id = g.trace_id AND t.device = g.device
    WINDOW lane AS (PARTITION BY g.trace_id, g.device ORDER BY g.stretch)
),
usual AS (
    SELECT
        *,
        count(CASE WHEN is_inner THEN 1 END) OVER device AS inner_count,
        count(CASE WHEN is_inner AND has_head THEN 1 END) OVER device AS head_count,
        count(CASE WHEN is_inner AND has_tail THEN 1 END) OVER device AS tail_count,
        count(CASE WHEN is_inner AND is_block THEN 1 END) OVER device AS block_count,
        count(CASE WHEN is_inner AND has_exchange THEN 1 END) OVER device
            <= greatest(count(CASE WHEN is_inner THEN 1 END) OVER device / 2, 1) AS is_staged,
        10 * count(CASE WHEN is_inner AND residuals > 0 THEN 1 END) OVER device
            >= count(CASE WHEN is_inner THEN 1 END) OVER device AS has_residuals,
        10 * count(CASE WHEN is_inner AND norms > 0 THEN 1 END) OVER device
            >= count(CASE WHEN is_inner THEN 1 END) OVER device AS has_norms,
        median(norms) FILTER (is_inner AND norms > 0) OVER device AS usual_norms
    FROM compared
    WINDOW device AS (PARTITION BY trace_id, device)
),
stated AS (
    SELECT
        *,
        is_inner AND (
            (has_head AND head_count <= greatest(inner_count / 2, 1))
            OR (has_tail AND tail_count <= greatest(inner_count / 2, 1))
            OR (has_exchange AND is_staged)
            OR is_step OR (is_block AND block_count <= inner_count / 2)
        ) AS is_strong,
        is_inner AND coalesce(is_long, FALSE) AS is_pause,
        coalesce(norms > usual_norms, FALSE) AS has_final_norm
    FROM usual
),
judged AS (
    SELECT
        *,
        is_strong OR (is_pause AND (has_final_norm OR NOT bool_or(
            is_strong OR (is_pause AND has_final_norm)
        ) OVER (PARTITION BY trace_id, device))) AS is_break
    FROM stated
)
SELECT
    trace_id, rank, device, stretch, inner_count + 1 AS anchor_count, kernel_id, seq,
    has_head OR (has_receive AND is_staged) AS has_head, is_staged, is_break, is_strong,
    is_inner AND NOT is_break AND inner_count > 0 AND CASE
        WHEN has_residuals THEN residuals = 0
        WHEN has_norms THEN norms = 0
        ELSE FALSE
    END AS is_same
FROM judged
WHERE kernel_id IS NOT NULL;

-- One row per anchor of an Ascend device: its pass and layer. A run is what lies between two
-- breaks. The number of layers of a pass is the user's or, unless it is a stage of a pipeline, that
-- of the config; else that of the runs that make up most of the capture, if two of them agree or
-- there is only one. Runs of a multiple of it are several passes. A first run that began before the
-- capture ends with the last layer. Short runs that regularly follow a whole one draft tokens for
-- it: their layers continue its numbering.
--
-- stored: per ascend trace
--
-- trace_id      VARCHAR  trace
-- rank          INTEGER  rank in the job, NULL if unknown
-- device        INTEGER  device
-- kernel_id     BIGINT   the anchor
-- seq           BIGINT   its place on the device
-- stretch       BIGINT   anchors before it
-- anchor_count  BIGINT   anchors on the device
-- run_id        BIGINT   run or part of one, from 0
-- pass_id       BIGINT   pass, from 0
-- layer_id      BIGINT   layer, from 0
-- num_layers    INTEGER  layers of a complete pass
-- is_agreed     BOOLEAN  that number is known, not just the best guess
-- begins_layer  BOOLEAN  it is the first anchor of its layer
-- is_staged     BOOLEAN  exchanges between pipeline stages begin and end the device's passes
-- pass_source   VARCHAR  signature break, idle gap or anchor count
CREATE VIEW _ascend_anchors AS
WITH runs AS (
    SELECT
        *,
        count(CASE WHEN is_break THEN 1 END) OVER lane AS run_number,
        count(CASE WHEN NOT is_same THEN 1 END) OVER lane AS layers_so_far
    FROM _ascend_stretches
    WINDOW lane AS (PARTITION BY trace_id, device ORDER BY stretch ROWS UNBOUNDED PRECEDING)
),
sizes AS (
    SELECT
        trace_id, device, run_number, max(layers_so_far) - min(layers_so_far) + 1 AS layers,
        min(layers_so_far) AS first_layer, bool_or(has_head) AS has_head,
        bool_or(is_strong) AS is_strong,
        count(*) OVER (PARTITION BY trace_id, device) AS run_count
    FROM runs
    GROUP BY trace_id, device, run_number
),
votes AS (
    SELECT
        trace_id, device, layers, count(*) AS votes, any_value(run_count) AS run_count,
        bool_or(run_number BETWEEN 1 AND run_count - 2) AS is_bounded
    FROM sizes
    GROUP BY trace_id, device, layers
),
-- A stage of a pipeline has only some of the layers that a config counts.
given_ones AS (
    SELECT
        v.*,
        CASE
            WHEN s.is_given OR NOT coalesce(t.pp > 1, FALSE) AND x.device IS NULL THEN s.num_layers
        END AS given
    FROM votes AS v
    JOIN traces AS t ON t.trace_id = v.trace_id
    JOIN _layer_settings AS s ON s.trace_id = v.trace_id
    LEFT JOIN (
        SELECT DISTINCT trace_id, device FROM _ascend_marks WHERE mark IN ('receive', 'send')
    ) AS x ON x.trace_id = v.trace_id AND x.device = v.device
),
elected AS (
    SELECT
        v.trace_id, v.device, any_value(v.given) AS given,
        coalesce(
            any_value(v.given),
            arg_max(v.layers, (v.layers * v.votes, v.layers)) FILTER (v.votes > 1),
            max(v.layers) FILTER (v.is_bounded), max(v.layers)
        ) AS num_layers,
        coalesce(
            any_value(v.given) IS NOT NULL OR bool_or(v.votes > 1) OR max(v.run_count) = 1,
            FALSE
        ) AS is_agreed
    FROM given_ones AS v
    GROUP BY v.trace_id, v.device
),
measured AS (
    SELECT
        z.*, e.num_layers, e.is_agreed, e.given,
        z.layers = e.num_layers AS is_whole,
        z.layers * 4 <= e.num_layers AND z.run_number > 0 AS is_short,
        -- Another run follows, so it ends at the end of a pass.
        z.run_number = 0 AND NOT z.has_head AND z.run_count > 1 AS is_missed,
        z.layers > e.num_layers AND (
            e.given IS NOT NULL OR (e.is_agreed AND z.layers % e.num_layers = 0)
        ) AS is_split
    FROM sizes AS z
    JOIN elected AS e ON e.trace_id = z.trace_id AND e.device = z.device
),
led AS (
    SELECT
        *, count(CASE WHEN NOT is_short THEN 1 END) OVER lane AS leader,
        sum(CASE WHEN is_short THEN layers ELSE 0 END) OVER lane AS short_layers
    FROM measured
    WINDOW lane AS (PARTITION BY trace_id, device ORDER BY run_number ROWS UNBOUNDED PRECEDING)
),
families AS (
    SELECT
        trace_id, device, leader, bool_or(is_whole) AS is_whole,
        coalesce(sum(layers) FILTER (is_short), 0) AS drafts,
        min(short_layers) AS drafts_before
    FROM led
    GROUP BY trace_id, device, leader
),
drafting AS (
    SELECT
        trace_id, device,
        CASE
            WHEN count(*) FILTER (is_whole AND drafts > 0) > 1
                AND 2 * count(*) FILTER (is_whole AND drafts > 0)
                    >= count(*) FILTER (is_whole)
                THEN mode(drafts ORDER BY drafts) FILTER (is_whole AND drafts > 0)
            ELSE 0
        END AS drafts
    FROM families
    GROUP BY trace_id, device
),
drafted AS (
    SELECT
        l.*, d.drafts, f.drafts_before, l.is_short AND d.drafts > 0 AND l.leader > 0 AS is_draft
    FROM led AS l
    JOIN drafting AS d ON d.trace_id = l.trace_id AND d.device = l.device
    JOIN families AS f
        ON f.trace_id = l.trace_id AND f.device = l.device AND f.leader = l.leader
),
numbered AS (
    SELECT
        r.trace_id, r.rank, r.device, r.kernel_id, r.seq, r.stretch, r.anchor_count, r.run_number,
        r.is_same, r.is_staged, d.is_draft, d.num_layers, d.drafts, d.is_agreed, d.given,
        d.is_missed, d.is_split, d.leader, d.is_strong,
        r.layers_so_far - d.first_layer + CASE
            WHEN d.is_missed AND (d.is_split OR d.layers < d.num_layers)
                THEN (d.num_layers - d.layers % d.num_layers) % d.num_layers
            WHEN d.is_draft THEN d.num_layers + d.short_layers - d.layers - d.drafts_before
            ELSE 0
        END AS place
    FROM runs AS r
    JOIN drafted AS d
        ON d.trace_id = r.trace_id AND d.device = r.device AND d.run_number = r.run_number
),
split AS (
    SELECT
        *, CASE WHEN is_split THEN place // num_layers ELSE 0 END AS turn,
        CASE WHEN is_split THEN place % num_layers ELSE place END AS layer_id
    FROM numbered
)
SELECT
    trace_id, rank, device, kernel_id, seq, stretch, anchor_count,
    dense_rank() OVER (PARTITION BY trace_id, device ORDER BY run_number, turn) - 1 AS run_id,
    dense_rank() OVER (
        -- Draft runs belong to the pass of the run before them.
        PARTITION BY trace_id, device
        ORDER BY CASE WHEN drafts > 0 THEN leader ELSE run_number END, turn
    ) - 1 AS pass_id,
    CAST(layer_id AS BIGINT) AS layer_id, CAST(num_layers + drafts AS INTEGER) AS num_layers,
    is_agreed, NOT is_same AS begins_layer, is_staged,
    CASE
        WHEN is_split THEN 'anchor count'
        WHEN bool_or(is_strong) OVER (PARTITION BY trace_id, device) THEN 'signature break'
        WHEN max(run_number) OVER (PARTITION BY trace_id, device) > 0 THEN 'idle gap'
        ELSE 'anchor count'
    END AS pass_source
FROM split;
