-- One row per call of the host that runs a compiled program on a GPU, unless the user named an
-- anchor.
--
-- rows: of jax traces
CREATE VIEW _program_calls AS
SELECT
    e.trace_id, e.pid, e.tid, e.event_id AS run_id,
    regexp_replace(e.name, ':XLA GPU module$', '') AS program, e.start_ns, e.end_ns
FROM events AS e
JOIN traces AS t ON t.trace_id = e.trace_id
JOIN _layer_settings AS s ON s.trace_id = e.trace_id
WHERE
    t.format = 'jax' AND e.lane = 'host' AND e.dur_ns > 0
    AND ends_with(e.name, ':XLA GPU module') AND s.anchor IS NULL;

-- One row per device operation of a run of a compiled program (a module of XLA): its place in the
-- run, and its family. A compiler numbers the instructions of one kind: fusion.12 and fusion.31 are
-- one family if they have the same category; an instruction that runs several times in a run, in a
-- loop, is a family of its own. Kernels of a GPU have the name of a function, which several of
-- their instructions call: those of one instruction have its name in their arguments. Operations
-- that only enclose others, such as a loop, are left out, and so are copies of memory. If no line
-- of the device shows the runs, as on GPUs, the host's call of the program is the run, with the
-- operations that it launched. A run that trains is two: from its first product on whose path in
-- the framework has a transpose (JAX) and which is not computed again, it runs backward. A loop of
-- micro-batches in a run is two for each. If the user named an anchor, there are no rows.
--
-- stored: per trace
--
-- trace_id         VARCHAR  trace
-- rank             INTEGER  rank in the job, NULL if unknown
-- device           INTEGER  device
-- stream           BIGINT   stream of the operation
-- kernel_id        BIGINT   the operation
-- start_ns         BIGINT   its start
-- end_ns           BIGINT   its end
-- program          VARCHAR  program, with its fingerprint, or a number if the run shows none;
--                           backward appended for what runs backward
-- direction        VARCHAR  forward or backward, NULL if the run shows no backward pass
-- run_id           BIGINT   event_id of the run; of the first backward product for that part, of
--                           the first operation for a later micro-batch
-- run_ns           BIGINT   start of the run, or of that product or operation
-- seq              BIGINT   place in the run by start, from 1
-- family           VARCHAR  name, without its numbers if it is not in a loop, and category;
--                           with its instruction in a loop on a GPU; attention that also runs
--                           outside of loops has no numbers
-- name_family      VARCHAR  the same without the numbers in any case
-- is_looped        BOOLEAN  it runs in each turn of a loop whose turns are layers
-- category         VARCHAR  its category
-- begins_beat      BOOLEAN  it is the first attention since the last product or collective, and not
--                           one computed again
-- is_product       BOOLEAN  a matrix product, or experts
-- is_collective    BOOLEAN  it is communication
CREATE VIEW _program_operations AS
WITH runs AS (
    SELECT
        p.trace_id, p.device, p.event_id AS run_id,
        p.program || coalesce('(' || p.fingerprint || ')', '') AS program, p.start_ns, p.end_ns
    FROM programs AS p
    JOIN _layer_settings AS s ON s.trace_id = p.trace_id
    WHERE p.end_ns > p.start_ns AND s.anchor IS NULL
),
leaves AS (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.name,
        k.category, k.kind = 'communication' AS is_collective
    FROM kernels AS k
    SEMI JOIN runs AS r ON r.trace_id = k.trace_id AND r.device = k.device
    ANTI JOIN enclosing_kernels AS e ON e.trace_id = k.trace_id AND e.kernel_id = k.kernel_id
    WHERE k.kind <> 'memory'
),
called AS (
    SELECT
        k.trace_id, k.rank, k.device, k.stream, k.kernel_id, k.start_ns, k.end_ns, k.name,
        k.category, k.kind = 'communication' AS is_collective, c.program, c.run_id,
        c.start_ns AS run_ns
    FROM kernels AS k
    ASOF JOIN _program_calls AS c
        ON c.trace_id = k.trace_id AND c.pid = k.launch_pid AND c.tid = k.launch_tid
        AND c.start_ns <= k.launch_ns
    ANTI JOIN runs AS r ON r.trace_id = k.trace_id
    WHERE k.launch_ns < c.end_ns AND k.kind <> 'memory'
),
-- A function compiled for several shapes has one name on the host: its programs are distinguished
-- by the kernels that they run. A run that the capture cuts has a subset of another run's kernels.
shapes AS (
    SELECT
        trace_id, device, program, run_id, list(DISTINCT name ORDER BY name) AS names
    FROM called
    GROUP BY trace_id, device, program, run_id
),
shaped AS (
    SELECT
        s.trace_id, s.device, s.run_id,
        format('{}({})', s.program, dense_rank() OVER (
            PARTITION BY s.trace_id, s.device, s.program ORDER BY max((len(o.names), o.names))
        )) AS program
    FROM shapes AS s
    JOIN (SELECT DISTINCT trace_id, device, program, names FROM shapes) AS o
        ON o.trace_id = s.trace_id AND o.device = s.device AND o.program = s.program
        AND list_has_all(o.names, s.names)
    GROUP BY s.trace_id, s.device, s.program, s.run_id
),
all_runs AS (
    SELECT o.*, r.program, r.run_id, r.start_ns AS run_ns
    FROM leaves AS o
    ASOF JOIN runs AS r
        ON r.trace_id = o.trace_id AND r.device = o.device AND r.start_ns <= o.start_ns
    WHERE o.start_ns < r.end_ns
    UNION ALL
    SELECT c.* REPLACE (s.program AS program)
    FROM called AS c
    JOIN shaped AS s ON s.trace_id = c.trace_id AND s.device = c.device AND s.run_id = c.run_id
),
in_runs AS (
    SELECT
        o.*, g.kernel_id IS NOT NULL AS on_gpu, g.hlo_op,
        if(g.kernel_id IS NULL, o.name, g.instruction) AS instruction
    FROM all_runs AS o
    LEFT JOIN _gpu_instructions AS g ON g.trace_id = o.trace_id AND g.kernel_id = o.kernel_id
),
kinds AS (
    SELECT
        n.name, n.category,
        regexp_replace(n.name, '([._](\d+|clone|kd|remat\w*))+$', '') AS kind,
        coalesce(r.role = 'inside', FALSE) AS is_attention,
        starts_with(n.category, 'gemm') OR n.category IN ('moe', 'moe_gemm', 'mc2', 'conv')
            AS is_product
    FROM (SELECT DISTINCT name, category FROM in_runs) AS n
    LEFT JOIN anchor_roles AS r ON r.category = n.category
),
-- The path of an instruction is the same in all runs.
instructions AS (
    SELECT o.trace_id, o.program, o.instruction, min(o.kernel_id) AS kernel_id
    FROM in_runs AS o
    JOIN kinds AS k ON k.name = o.name AND k.category = o.category
    WHERE (k.is_product OR k.is_attention) AND o.instruction IS NOT NULL
    GROUP BY o.trace_id, o.program, o.instruction
),
-- What is computed again shows no backward pass: of two equal computations, XLA may keep the later
-- one's path for a forward operation.
transposed AS (
    SELECT
        trace_id, program, instruction,
        contains(path, 'rematted_computation') AS is_again
    FROM (
        SELECT
            i.trace_id, i.program, i.instruction,
            -- After the grouping, so that only the arguments of these operations are parsed.
            framework_path(any_value(e.args ->> '$.tf_op'), any_value(e.args ->> '$.name')) AS path
        FROM instructions AS i
        JOIN events AS e ON e.trace_id = i.trace_id AND e.event_id = i.kernel_id
        WHERE e.lane = 'device'
        GROUP BY i.trace_id, i.program, i.instruction
    )
    WHERE contains(path, 'transpose(')
),
directed_products AS (
    SELECT
        o.trace_id, o.device, o.run_id, o.run_ns, o.start_ns, o.kernel_id, o.instruction,
        coalesce(NOT t.is_again, FALSE) AS is_backward
    FROM in_runs AS o
    JOIN kinds AS k ON k.name = o.name AND k.category = o.category
    LEFT JOIN transposed AS t
        ON t.trace_id = o.trace_id AND t.program = o.program AND t.instruction = o.instruction
    WHERE k.is_product
),
trained AS (
    SELECT
        trace_id, device, run_id, any_value(run_ns) AS run_ns,
        min(start_ns) FILTER (is_backward) AS from_ns,
        arg_min(instruction, (start_ns, kernel_id)) AS first_product
    FROM directed_products
    GROUP BY trace_id, device, run_id
    HAVING bool_or(is_backward)
),
-- A run that executes its first product again after a backward one has a loop of micro-batches,
-- which begins with the first instruction that it executes again. (A loop of the loss alone, in
-- parts that are run forward and backward, does not execute the first product again.)
recurring AS (
    SELECT
        o.trace_id, o.device, o.run_id, o.instruction, min(o.start_ns) AS first_ns,
        any_value(r.first_product) AS first_product
    FROM in_runs AS o
    JOIN trained AS r
        ON r.trace_id = o.trace_id AND r.device = o.device AND r.run_id = o.run_id
    WHERE o.instruction IS NOT NULL
    GROUP BY o.trace_id, o.device, o.run_id, o.instruction
    HAVING min(o.start_ns) < any_value(r.from_ns) AND max(o.start_ns) > any_value(r.from_ns)
),
micro_batched AS (
    SELECT trace_id, device, run_id, arg_min(instruction, (first_ns, instruction)) AS opener
    FROM recurring
    GROUP BY trace_id, device, run_id
    HAVING bool_or(instruction = first_product)
),
-- What opens or turns a micro-batch: its opener after a backward product, and the first backward
-- product after that.
turning AS (
    SELECT
        trace_id, device, run_id, start_ns, kernel_id, is_backward,
        is_backward IS DISTINCT FROM lag(is_backward) OVER (
            PARTITION BY trace_id, device, run_id ORDER BY start_ns, kernel_id
        ) AS is_turn
    FROM (
        SELECT trace_id, device, run_id, start_ns, kernel_id, TRUE AS is_backward
        FROM directed_products
        WHERE is_backward
        UNION ALL
        SELECT o.trace_id, o.device, o.run_id, o.start_ns, o.kernel_id, FALSE
        FROM in_runs AS o
        JOIN micro_batched AS m
            ON m.trace_id = o.trace_id AND m.device = o.device AND m.run_id = o.run_id
            AND m.opener = o.instruction
        JOIN trained AS r
            ON r.trace_id = o.trace_id AND r.device = o.device AND r.run_id = o.run_id
        WHERE o.start_ns > r.from_ns
    )
),
parts AS (
    SELECT trace_id, device, run_id, run_ns AS from_ns, run_id AS from_id, FALSE AS is_backward
    FROM trained
    UNION ALL
    SELECT trace_id, device, run_id, start_ns, kernel_id, is_backward
    FROM turning
    WHERE is_turn
),
directed AS (
    SELECT
        o.* REPLACE (
            if(p.is_backward, o.program || ' backward', o.program) AS program,
            coalesce(p.from_id, o.run_id) AS run_id, coalesce(p.from_ns, o.run_ns) AS run_ns
        ),
        if(p.is_backward, 'backward', if(p.from_id IS NULL, NULL, 'forward')) AS direction
    FROM in_runs AS o
    ASOF LEFT JOIN parts AS p
        ON p.trace_id = o.trace_id AND p.device = o.device AND p.run_id = o.run_id
        AND p.from_ns <= o.start_ns
),
-- An instruction of a GPU may launch many kernels, such as the products of all experts. Kernels of
-- one instruction are one execution of it if none of another one runs between them; collectives,
-- which run beside others, separate none. Elsewhere each operation is one execution.
executed AS (
    SELECT
        *, count(CASE WHEN is_other THEN 1 END) OVER (
            PARTITION BY trace_id, device, run_id ORDER BY start_ns, kernel_id
            ROWS UNBOUNDED PRECEDING
        ) AS execution
    FROM (
        SELECT
            *, NOT on_gpu OR NOT is_collective AND hlo_op IS DISTINCT FROM lag(hlo_op) OVER (
                PARTITION BY trace_id, device, run_id, is_collective ORDER BY start_ns, kernel_id
            ) AS is_other
        FROM directed
    )
),
-- Instructions in a loop run in each of its turns, under their own names; those of one loop overlap
-- in the run.
loop_instructions AS (
    SELECT *, first_ns > coalesce(max(last_ns) OVER (
        PARTITION BY trace_id, device, run_id, turns ORDER BY first_ns, instruction
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), first_ns - 1) AS begins
    FROM (
        SELECT
            o.trace_id, o.device, o.run_id, o.program, o.direction, o.instruction,
            count(DISTINCT o.execution) AS turns, bool_or(k.is_product) AS is_product,
            bool_or(k.is_attention) AS is_attention, min(o.start_ns) AS first_ns,
            max(o.start_ns) AS last_ns
        FROM executed AS o
        JOIN kinds AS k ON k.name = o.name AND k.category = o.category
        WHERE o.instruction IS NOT NULL
        GROUP BY o.trace_id, o.device, o.run_id, o.program, o.direction, o.instruction
        HAVING turns > 2
    )
),
-- A turn with more work than a layer has is a step or a micro-batch, whose layers are unrolled. A
-- layer that runs backward may have several attentions, of which one is computed again: there,
-- turns are layers if those of a forward loop of as many turns are.
looped AS (
    SELECT DISTINCT trace_id, program, unnest(instructions) AS instruction
    FROM (
        SELECT
            trace_id, device, program, direction, turns, list(instruction) AS instructions,
            count(*) FILTER (is_attention) <= 1
            AND count(*) FILTER (is_product) <= (
                SELECT value FROM program_layer_limits WHERE program_limit = 'layer_products'
            ) AS is_layer
        FROM (
            SELECT *, count(CASE WHEN begins THEN 1 END) OVER (
                PARTITION BY trace_id, device, run_id, turns ORDER BY first_ns, instruction
                ROWS UNBOUNDED PRECEDING
            ) AS nth_loop
            FROM loop_instructions
        )
        GROUP BY trace_id, device, run_id, program, direction, turns, nth_loop
        QUALIFY is_layer OR coalesce(bool_or(is_layer AND direction = 'forward') OVER (
            PARTITION BY trace_id, device, replace(program, ' backward', ''), turns
        ), FALSE)
    )
),
unlooped AS (
    SELECT DISTINCT o.trace_id, o.program, k.kind
    FROM directed AS o
    JOIN kinds AS k ON k.name = o.name AND k.category = o.category
    ANTI JOIN looped AS l
        ON l.trace_id = o.trace_id AND l.program = o.program AND l.instruction = o.instruction
    WHERE k.is_attention
),
counted AS (
    SELECT
        o.*,
        if(u.kind IS NULL, coalesce(l.instruction, k.kind), k.kind) || ' ' || o.category AS family,
        k.kind || ' ' || o.category AS name_family, l.instruction IS NOT NULL AS is_looped,
        k.is_attention AND NOT coalesce(t.is_again, FALSE) AS is_attention, k.is_product,
        row_number() OVER in_time AS seq,
        count(CASE WHEN k.is_product OR o.is_collective THEN 1 END) OVER (
            in_time ROWS UNBOUNDED PRECEDING
        ) AS parted
    FROM directed AS o
    JOIN kinds AS k ON k.name = o.name AND k.category = o.category
    LEFT JOIN looped AS l
        ON l.trace_id = o.trace_id AND l.program = o.program AND l.instruction = o.instruction
    LEFT JOIN transposed AS t
        ON t.trace_id = o.trace_id AND t.program = replace(o.program, ' backward', '')
        AND t.instruction = o.instruction
    LEFT JOIN unlooped AS u
        ON u.trace_id = o.trace_id AND u.program = o.program AND u.kind = k.kind
    WINDOW in_time AS (
        PARTITION BY o.trace_id, o.device, o.run_id ORDER BY o.start_ns, o.kernel_id
    )
)
SELECT
    trace_id, rank, device, stream, kernel_id, start_ns, end_ns, program, direction, run_id, run_ns,
    seq, family, name_family, is_looped, category,
    is_attention AND coalesce(parted > lag(parted) OVER alike, TRUE) AS begins_beat,
    is_product, is_collective
FROM counted
WINDOW alike AS (PARTITION BY trace_id, device, run_id, is_attention ORDER BY seq);
