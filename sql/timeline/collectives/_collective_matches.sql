-- One row per collective with the call across ranks that it is a part of.
--
-- Ranks of one run call the collectives of a group in the same order. A number given by the
-- framework identifies the call; if a device has several of one number, as in replays of a graph
-- that was captured once, they are counted, and matched if the ranks have equally many. Collectives
-- of a compiled program are one call if they are the
-- same instruction in the same run of the program; runs are numbered by counting, if the devices
-- show equally many. All others are counted, and only devices with the same sequence of kinds and
-- sizes from end to end are matched. Traces belong to one run if they were given the same run; the
-- devices of one trace always do.
--
-- A rank takes part in a call once. If several of its captures contain the same call, each captured
-- a different part of the run: the first of a rank is matched with the first of the others, and so
-- on, if the ranks have equally many. Captures of one rank that overlap in time are from several
-- jobs or several profilers: calls that both contain are not matched with other traces.
--
-- trace_id       VARCHAR  trace
-- device         INTEGER  device
-- collective_id  BIGINT   event_id of its first operation
-- run            VARCHAR  run, or the trace's id if it has none
-- ranks          VARCHAR  the group
-- call           VARCHAR  the call, the same on all ranks
-- matched_by     VARCHAR  sequence, instruction or order
-- start_ns       BIGINT   start on the rank's clock, ns since 1970 if the file has it
-- end_ns         BIGINT   end on that clock, ns
CREATE VIEW _collective_matches AS
WITH runs AS (
    SELECT
        trace_id, device, program, execution_id,
        row_number() OVER (
            PARTITION BY trace_id, device, program ORDER BY start_ns
        ) AS run_number,
        count(*) OVER (PARTITION BY trace_id, device, program) AS run_count
    FROM programs
    WHERE execution_id IS NOT NULL
),
marks AS (
    SELECT
        collectives.trace_id, collectives.device, collective_id,
        coalesce(traces.run, collectives.trace_id) AS run,
        concat_ws(' ', process_group, group_ranks) AS ranks, kind, collectives.program, sequence,
        collectives.name, call_number, bytes, run_number, run_count,
        coalesce(traces.base_time_ns, 0) + collectives.start_ns AS start_ns,
        coalesce(traces.base_time_ns, 0) + collectives.end_ns AS end_ns,
        CASE
            WHEN sequence IS NOT NULL THEN 'sequence'
            WHEN run_number IS NOT NULL THEN 'instruction'
            ELSE 'order'
        END AS matched_by
    FROM collectives
    JOIN traces ON traces.trace_id = collectives.trace_id
    LEFT JOIN runs
        ON runs.trace_id = collectives.trace_id
        AND runs.device = collectives.device
        AND runs.program = collectives.program
        AND runs.execution_id = collectives.execution_id
    -- A message between two ranks may have a row on only one of them: they are not matched.
    WHERE kind <> 'send-recv'
),
signatures AS (
    SELECT
        trace_id, device, ranks,
        md5(string_agg(
            -- Ranks may exchange different amounts with each other, but reduce equal ones.
            concat_ws(' ', kind, CASE WHEN kind <> 'all-to-all' THEN bytes END), ','
            ORDER BY start_ns, collective_id
        )) AS signature
    FROM marks
    WHERE matched_by = 'order'
    GROUP BY trace_id, device, ranks
),
numbered AS (
    SELECT
        trace_id, device, collective_id, run, ranks, kind, program, sequence, name, call_number,
        run_number, run_count, start_ns, end_ns, matched_by,
        CASE WHEN sequence IS NOT NULL AND count(*) OVER of_number > 1
            THEN concat_ws(' ', 'part', row_number() OVER (
                PARTITION BY trace_id, device, ranks, kind, sequence
                ORDER BY start_ns, collective_id
            ), 'of', count(*) OVER of_number)
        END AS part
    FROM marks
    WINDOW of_number AS (PARTITION BY trace_id, device, ranks, kind, sequence)
),
called AS (
    SELECT
        marks.trace_id, marks.device, collective_id, run, marks.ranks,
        CASE matched_by
            WHEN 'sequence' THEN concat_ws(' ', kind, marks.ranks, sequence, part)
            WHEN 'instruction' THEN concat_ws(
                ' ', name, marks.ranks, 'of', program, run_number, 'of', run_count, call_number
            )
            ELSE concat_ws(
                ' ', kind, marks.ranks, signatures.signature,
                row_number() OVER (
                    PARTITION BY marks.trace_id, marks.device, marks.ranks, matched_by
                    ORDER BY start_ns, collective_id
                )
            )
        END AS call,
        matched_by, start_ns, end_ns
    FROM numbered AS marks
    LEFT JOIN signatures
        ON signatures.trace_id = marks.trace_id
        AND signatures.device = marks.device
        AND signatures.ranks = marks.ranks
        AND marks.matched_by = 'order'
),
repeated AS (
    SELECT
        run, call, trace_id, is_overlapping,
        row_number() OVER (PARTITION BY run, call, member ORDER BY place) AS capture,
        count(*) OVER (PARTITION BY run, call, member) AS captures
    FROM (
        SELECT DISTINCT run, call, trace_id, member, place, is_overlapping
        FROM called
        JOIN _rank_captures USING (trace_id)
    )
    QUALIFY captures > 1
)
SELECT
    called.trace_id, called.device, collective_id, called.run, ranks,
    CASE
        WHEN repeated.is_overlapping THEN concat_ws(' ', called.call, 'in', called.trace_id)
        WHEN repeated.captures > 1
            THEN concat_ws(' ', called.call, 'capture', capture, 'of', captures)
        ELSE called.call
    END AS call,
    matched_by, start_ns, end_ns
FROM called
LEFT JOIN repeated
    ON repeated.run = called.run
    AND repeated.call = called.call
    AND repeated.trace_id = called.trace_id;
