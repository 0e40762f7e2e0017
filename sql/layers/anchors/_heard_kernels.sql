-- One row per device operation whose layer is found by an anchor's name, on the stream that is
-- searched, with its model if the host shows it. If the host shows several, operations that none of
-- them launched are left out. Ascend devices with attention, and programs whose runs the trace
-- shows, need no anchor names: their devices are left out. Collectives of other Ascend devices have
-- no stream in their rows, or that of a helper, and a name for each call: they are found by their
-- type, on the stream that spends the most time in attention, or else in anything. A softmax of
-- unfused attention counts as attention, under a name that no other softmax has; a clamp from below
-- is a ReLU. Attention and norms that run backward mark no layer, nor does attention that alone is
-- computed again for its gradient. Operations that enclose others, such as a loop of XLA, are of no
-- layer: their time is that of all layers in them.
-- trace_id        VARCHAR  trace
-- series          VARCHAR  the model, empty where the host shows one alone or none
-- device          INTEGER  device
-- stream          BIGINT   the stream
-- kernel_id       BIGINT   the operation
-- start_ns        BIGINT   its start
-- end_ns          BIGINT   its end
-- dur_ns          BIGINT   its duration
-- name            VARCHAR  its name, or type
-- category        VARCHAR  its category
-- kind            VARCHAR  compute, communication or memory
-- launch_id       BIGINT   event_id of its launch, NULL if unknown
-- launch_kernels  BIGINT   operations of that launch
-- issued_ns       BIGINT   when the host issued it, ns (see kernels)
-- call_ns         BIGINT   start of the call of a model around the launch, NULL if unknown
CREATE VIEW _heard_kernels AS
WITH seats AS (
    SELECT k.trace_id, k.device, k.stream
    FROM kernels AS k
    JOIN traces AS t ON t.trace_id = k.trace_id
    LEFT JOIN anchor_roles AS r ON r.category = k.category
    WHERE t.format = 'ascend' AND k.kind = 'compute'
    GROUP BY k.trace_id, k.device, k.stream
    QUALIFY row_number() OVER (
        PARTITION BY k.trace_id, k.device
        ORDER BY
            coalesce(sum(k.dur_ns) FILTER (r.role = 'inside'), 0) DESC, sum(k.dur_ns) DESC, k.stream
    ) = 1
)
SELECT
    k.trace_id, coalesce(m.series, '') AS series, k.device,
    CASE WHEN s.trace_id IS NULL THEN k.stream ELSE s.stream END AS stream,
    k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
    CASE
        WHEN w.kernel_id IS NOT NULL THEN 'softmax of attention'
        WHEN s.trace_id IS NULL THEN k.name
        ELSE k.display_name
    END AS name,
    CASE
        WHEN w.kernel_id IS NOT NULL THEN 'attention'
        WHEN r.role = 'inside' AND (b.name IS NOT NULL OR g.kernel_id IS NOT NULL)
            THEN 'attention backward'
        WHEN r.role = 'begin' AND b.name IS NOT NULL THEN 'norm backward'
        WHEN k.op_name = 'aten::clamp_min' THEN 'activation'
        ELSE k.category
    END AS category,
    k.kind,
    k.launch_id, k.launch_kernels, k.issued_ns, m.call_ns
FROM kernels AS k
LEFT JOIN seats AS s
    ON s.trace_id = k.trace_id AND s.device = k.device AND k.kind = 'communication'
LEFT JOIN _called_kernels AS m ON m.trace_id = k.trace_id AND m.kernel_id = k.kernel_id
LEFT JOIN _written_attention AS w ON w.trace_id = k.trace_id AND w.kernel_id = k.kernel_id
LEFT JOIN anchor_roles AS r ON r.category = k.category
LEFT JOIN _backward_names AS b
    ON b.trace_id = k.trace_id AND b.name = k.name AND b.op_name IS NOT DISTINCT FROM k.op_name
LEFT JOIN _attention_again AS g ON g.trace_id = k.trace_id AND g.kernel_id = k.kernel_id
ANTI JOIN _ascend_anchors AS a ON a.trace_id = k.trace_id AND a.device = k.device
ANTI JOIN (SELECT DISTINCT trace_id, device FROM _program_operations) AS p
    ON p.trace_id = k.trace_id AND p.device = k.device
ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
WHERE m.kernel_id IS NULL OR m.series IS NOT NULL;
