-- One row per kernel of the anchors' stream, with the block it falls into. A block is what lies
-- between two edges: up to its anchor (role end) or from its first kernel on (begin, inside).
-- Where the pattern misses the first anchor of each pass, what precedes the second is a block too.
-- trace_id      VARCHAR  trace
-- series        VARCHAR  the model, empty where the trace has one alone
-- device        INTEGER  device
-- stream        BIGINT   stream of the anchors
-- kernel_id     BIGINT   the kernel
-- start_ns      BIGINT   its start
-- end_ns        BIGINT   its end
-- dur_ns        BIGINT   its duration
-- name          VARCHAR  its name
-- natural_role  VARCHAR  begin for norms, inside for attention, end for collectives
-- kind          VARCHAR  compute or communication
-- call_ns       BIGINT   start of the call of a model around its launch
-- seq           BIGINT   position on the stream, from 0
-- anchor_count  BIGINT   anchors on the stream
-- num_layers    INTEGER  layers of a pass
-- stride        BIGINT   anchors per pass
-- cut_from_end  BOOLEAN  an open block of this device is cut at its beginning, else at its end
-- block         BIGINT   block on the device, from 0; -1 before the first
-- remainder     BIGINT   anchors left over by whole passes
-- pass_source   VARCHAR  how the limits of passes are known
-- pass_id       BIGINT   pass of the block, NULL outside all blocks
-- layer_id      BIGINT   layer of the block, NULL where the block is no layer's
-- half          VARCHAR  label of the block within its layer
-- position      BIGINT   place of the kernel in its block, from 1
-- length        BIGINT   kernels in the block
-- is_open       BOOLEAN  no anchor closes the block off from its pass's surroundings
-- is_begun      BOOLEAN  the capture begins within the block
CREATE VIEW _block_kernels AS
WITH numbered AS (
    SELECT
        k.trace_id, k.series, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.dur_ns,
        k.name, k.natural_role, k.kind, k.call_ns, k.seq,
        k.anchor_count, k.num_layers, k.stride, k.extra,
        k.missed, k.remainder, k.pass_source,
        k.blocks_per_layer, k.half_labels, k.role = 'end' OR k.is_late AS cut_from_end,
        CASE k.role
            WHEN 'end' THEN k.anchors_before
            WHEN 'begin'
                THEN k.anchors_before + CAST(k.is_anchor AS BIGINT) - CAST(NOT k.is_late AS BIGINT)
            ELSE count(s.kernel_id) OVER (lane ROWS UNBOUNDED PRECEDING) - 1
        END AS block
    FROM _lane_kernels AS k
    LEFT JOIN _inside_starts AS s ON s.trace_id = k.trace_id AND s.kernel_id = k.kernel_id
    WINDOW lane AS (PARTITION BY k.trace_id, k.series, k.device ORDER BY k.seq)
),
placed AS (
    SELECT
        *,
        -- What precedes the first anchor of a pass that began before the capture is its, too.
        block BETWEEN CASE WHEN missed > 0 THEN -1 ELSE 0 END AND anchor_count - 1 AS is_inside,
        (block + missed) // stride AS pass_id,
        block = min(block) OVER (PARTITION BY trace_id, series, device) AND missed > 0 AS is_begun,
        (block + missed) % stride - CASE WHEN cut_from_end THEN extra ELSE 0 END AS slot
    FROM numbered
),
slotted AS (
    SELECT
        *, is_inside AND slot BETWEEN 0 AND stride - extra - 1 AS is_layer,
        CASE
            WHEN cut_from_end THEN slot = 0 AND extra = 0
            ELSE slot = stride - 1 OR block = anchor_count - 1
        END AS is_open
    FROM placed
)
SELECT
    trace_id, series, device, stream, kernel_id, start_ns, end_ns, dur_ns, name, natural_role, kind,
    call_ns, seq, anchor_count, num_layers, stride, cut_from_end, block, remainder, pass_source,
    CASE WHEN is_inside THEN pass_id END AS pass_id,
    CASE WHEN is_layer THEN slot // blocks_per_layer END AS layer_id,
    CASE WHEN is_layer THEN half_labels[slot % blocks_per_layer + 1] END AS half,
    row_number() OVER (lane_block ORDER BY seq) AS position,
    count(*) OVER lane_block AS length, is_layer AND is_open AS is_open,
    is_layer AND is_begun AS is_begun
FROM slotted
WINDOW lane_block AS (PARTITION BY trace_id, series, device, block);
