-- One row per trace and measure that a finding may be made of, including comparisons with other
-- ranks of its run.
CREATE VIEW _finding_values AS
WITH late AS (
    -- A lateness within the uncertainty of the clocks, or no more frequent than chance, is left
    -- out.
    SELECT trace_id, device, caused_us, last_calls, calls, run, rank
    FROM stragglers
    WHERE is_often_last AND mean_late_us > coalesce(clock_residual_us, 0)
    QUALIFY row_number() OVER (PARTITION BY trace_id ORDER BY caused_us DESC, device) = 1
),
windows AS (
    SELECT trace_id, max(window_us) AS window_us, count(*) AS devices
    FROM time_breakdown
    GROUP BY trace_id
    HAVING sum(window_us) > 0
)
SELECT trace_id, finding, value, gain_us, evidence, query
FROM _own_finding_values
UNION ALL
SELECT
    -- Without it the run, and so the time of each device, would be shorter by this.
    trace_id, 'straggler', 100 * caused_us / window_us, devices * caused_us,
    format(
        'device {}{} came last to {} of {} collectives; the others waited {:.1f} µs for it alone',
        device, coalesce(' of rank ' || rank, ''), last_calls, calls, caused_us
    ),
    format('SELECT * FROM stragglers WHERE run = ''{}''', replace(run, '''', ''''''))
FROM windows
JOIN late USING (trace_id);

-- One row per finding of a trace: what takes the time, how much at most there is to gain, and what
-- to try. A share is of a stated whole and never exceeds it.
--
-- key: trace_id, finding
--
-- trace_id     VARCHAR    trace
-- finding      VARCHAR    name of the finding
-- severity     VARCHAR    high, medium, or info if nothing is found or can be judged
-- title        VARCHAR    what was found, in a few words
-- value        DOUBLE     measured value; NULL if nothing is measured
-- threshold    DOUBLE     lowest value at which the finding is made
-- unit         VARCHAR    unit of both: percent, us or ratio
-- basis        VARCHAR    what the value is a share or measure of
-- gain_us      DOUBLE     most device time that could be saved, over all devices, µs
-- gain_pct     DOUBLE     the same over the time of all devices, %
-- evidence     VARCHAR    the figures in words
-- query        VARCHAR    SQL that shows them
-- suggestions  VARCHAR[]  what to try; where one call has most of the exposed communication, and
--                         so waits for another rank, stragglers are the first; not to compile
--                         where compiled code launched most of the work
-- priority     INTEGER    order in a report
CREATE VIEW findings AS
WITH rules AS (
    SELECT
        finding, priority, title, threshold, high_threshold, unit, basis, wait_suggestion,
        suggestions, string_split(suggestions, '|') AS suggested
    FROM finding_rules
),
wholes AS (
    SELECT trace_id, sum(window_us) AS whole_us FROM time_breakdown GROUP BY trace_id
),
compiled AS (
    -- Runs of XLA's programs, and calls of code that PyTorch's Inductor compiled.
    SELECT trace_id FROM programs
    UNION
    SELECT trace_id
    FROM _region_sums
    GROUP BY trace_id
    HAVING sum(own_ns) FILTER (contains(path, '## Call CompiledFxGraph ')) > 0.5 * sum(own_ns)
),
reached AS MATERIALIZED (
    SELECT trace_id, finding, value, gain_us, evidence, query
    FROM _finding_values
    JOIN rules USING (finding)
    WHERE value >= threshold
),
found AS (
    SELECT trace_id, finding, value, gain_us, evidence, query
    FROM reached
    UNION ALL
    SELECT trace_id, finding, value, gain_us, evidence, query
    FROM _finding_values
    WHERE finding = 'insufficient-data'
    UNION ALL
    SELECT
        trace_id,
        CASE WHEN whole_us > 0 THEN 'no-dominant-bottleneck' ELSE 'insufficient-data' END,
        NULL, NULL,
        CASE
            WHEN whole_us > 0 THEN 'no measure reaches its threshold'
            ELSE 'the trace shows no device operation that takes time'
        END,
        format('SELECT * FROM health WHERE trace_id = ''{}''', trace_id)
    FROM traces
    LEFT JOIN wholes USING (trace_id)
    WHERE trace_id NOT IN (
        SELECT trace_id FROM reached
        UNION ALL
        SELECT trace_id FROM _finding_values WHERE finding = 'insufficient-data'
    )
)
SELECT
    trace_id, finding,
    CASE WHEN value >= high_threshold THEN 'high' WHEN value IS NULL THEN 'info' ELSE 'medium' END
        AS severity,
    title, value, threshold, unit, basis, gain_us, 100 * gain_us / nullif(whole_us, 0) AS gain_pct,
    evidence, query,
    CASE
        WHEN is_wait AND wait_suggestion IS NOT NULL
            THEN list_prepend(
                suggested[wait_suggestion],
                list_concat(suggested[:wait_suggestion - 1], suggested[wait_suggestion + 1:])
            )
        WHEN compiled.trace_id IS NOT NULL
            THEN string_split(replace(suggestions, ', or compile it', ''), '|')
        ELSE suggested
    END AS suggestions,
    priority
FROM found
JOIN rules USING (finding)
LEFT JOIN wholes USING (trace_id)
LEFT JOIN (SELECT trace_id, is_wait FROM _worst_collectives) USING (trace_id)
LEFT JOIN compiled USING (trace_id);
