-- One row per test of whether two traces can be compared at all, with its verdict.
--
-- `FROM trace_provenance(before, after)` with the ids of two traces. An id is the hash of a trace's
-- decompressed content: a recompressed copy is the same trace.
--
-- question  VARCHAR  content, basis, programs (steps of another program are not compared), file,
--                    run, hardware, model, devices or completeness
-- verdict   VARCHAR  pass; warn: compare with care; fail: the comparison is meaningless
-- message   VARCHAR  what was found
CREATE MACRO trace_provenance(of_before, of_after) AS TABLE
WITH others AS (
    SELECT
        trace_id,
        string_agg(format('{} of {}', steps, program), ', ' ORDER BY steps DESC, program) AS others
    FROM _other_programs
    GROUP BY trace_id
),
sides AS (
    SELECT
        traces.trace_id, source_path, run, rank, hardware, model, truncated, basis, devices,
        _programs_message(steps, other_steps, program, program_pct, others) AS programs
    FROM traces
    LEFT JOIN comparison_bases USING (trace_id)
    LEFT JOIN others USING (trace_id)
),
pair AS (
    SELECT
        b.trace_id = a.trace_id AS same_content,
        b.basis AS before_basis, a.basis AS after_basis,
        b.source_path = a.source_path AS same_file, a.source_path AS file,
        b.run = a.run AS same_run, a.run AS run,
        b.hardware AS before_hardware, a.hardware AS after_hardware,
        b.model AS before_model, a.model AS after_model,
        b.devices AS before_devices, a.devices AS after_devices,
        b.truncated AS before_truncated, a.truncated AS after_truncated,
        _both_programs(b.programs, a.programs) AS programs
    FROM sides AS b
    CROSS JOIN sides AS a
    WHERE b.trace_id = of_before AND a.trace_id = of_after
)
SELECT question, verdict, message
FROM pair
CROSS JOIN LATERAL (
    VALUES
        (
            'content', CASE WHEN same_content THEN 'fail' ELSE 'pass' END,
            CASE WHEN same_content THEN 'both are the same trace' ELSE 'the traces differ' END
        ),
        (
            'basis',
            CASE WHEN before_basis = after_basis THEN 'pass' ELSE 'fail' END,
            concat(
                coalesce(before_basis, 'nothing to measure'), ', ',
                coalesce(after_basis, 'nothing to measure')
            )
        ),
        (
            'programs', CASE WHEN programs IS NULL THEN 'pass' ELSE 'warn' END,
            coalesce(programs, 'the compared steps are 99 % of the steps'' time or more')
        ),
        (
            'file', CASE WHEN same_file AND NOT same_content THEN 'warn' ELSE 'pass' END,
            CASE
                WHEN same_file AND NOT same_content
                    THEN 'both were read from ' || file || ', which was overwritten in between'
                ELSE 'the files differ'
            END
        ),
        (
            'run', CASE WHEN same_run THEN 'warn' ELSE 'pass' END,
            CASE
                WHEN same_run THEN 'both are of run ' || run || ': ranks of one run, or repeats'
                ELSE 'the runs differ, or are not given'
            END
        ),
        (
            'hardware',
            CASE WHEN before_hardware <> after_hardware THEN 'warn' ELSE 'pass' END,
            concat(
                coalesce(before_hardware, 'unknown'), ', ', coalesce(after_hardware, 'unknown')
            )
        ),
        (
            'model', CASE WHEN before_model <> after_model THEN 'warn' ELSE 'pass' END,
            concat(coalesce(before_model, 'unknown'), ', ', coalesce(after_model, 'unknown'))
        ),
        (
            'devices', CASE WHEN before_devices <> after_devices THEN 'warn' ELSE 'pass' END,
            concat(coalesce(before_devices, 0), ', ', coalesce(after_devices, 0))
        ),
        (
            'completeness',
            CASE WHEN before_truncated OR after_truncated THEN 'warn' ELSE 'pass' END,
            CASE
                WHEN before_truncated OR after_truncated THEN 'a file breaks off'
                ELSE 'both files are whole'
            END
        )
) AS answers (question, verdict, message);
