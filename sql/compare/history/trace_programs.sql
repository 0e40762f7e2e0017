-- One row per trace: the properties of its program. Traces of different programs share no history.
--
-- key: trace_id
--
-- trace_id  VARCHAR  trace
-- model     VARCHAR  the trace's model; NULL if none is set
-- phase     VARCHAR  prefill, decode or training: the stage of passes with the most time; NULL if
--                    unknown. What autograd records is training, see differentiated_passes; so are
--                    passes of unknown stage on a device that runs a backward pass, as one CUDA
--                    graph of a whole step
-- passes    BIGINT   passes found
-- hardware  VARCHAR  chip, see the table hardware
-- devices   BIGINT   devices that ran something
-- basis     VARCHAR  unit that its measures are per, see comparison_bases
CREATE VIEW trace_programs AS
WITH stages AS (
    SELECT
        trace_id, arg_max(stage, (busy_us, stage)) AS stage, CAST(sum(passes) AS BIGINT) AS passes
    FROM (
        SELECT
            p.trace_id,
            CASE
                WHEN p.direction IS NOT NULL OR w.phase = 'training' THEN 'training'
                WHEN p.stage IS NULL AND b.trace_id IS NOT NULL THEN 'training'
                ELSE p.stage
            END AS stage,
            sum(p.busy_us) AS busy_us, count(DISTINCT p.pass_id) AS passes
        FROM passes AS p
        LEFT JOIN pass_workloads AS w
            ON w.trace_id = p.trace_id AND w.device = p.device AND w.pass_id = p.pass_id
        LEFT JOIN training_phases AS b
            ON b.trace_id = p.trace_id AND b.device = p.device AND b.phase = 'backward'
        GROUP BY ALL
    )
    GROUP BY trace_id
)
SELECT
    traces.trace_id, traces.model, stages.stage AS phase, coalesce(stages.passes, 0) AS passes,
    traces.hardware, coalesce(bases.devices, 0) AS devices, bases.basis
FROM traces
LEFT JOIN stages ON stages.trace_id = traces.trace_id
LEFT JOIN comparison_bases AS bases ON bases.trace_id = traces.trace_id;
