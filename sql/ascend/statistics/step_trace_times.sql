-- One row per step and device of step_trace_time.csv, or per step and rank or stage of the
-- cluster's file: the profiler's own sums.
--
-- computing + communication_not_overlapped + free is the step's length; stage is that without
-- bubble.
--
-- key: trace_id, device, step?, type, ranks?
--
-- trace_id                           VARCHAR  trace
-- rank                               INTEGER  rank: the trace's, or in a cluster's file the row's;
--                                             NULL if unknown and for stages
-- device                             INTEGER  device, -1 where the file has none
-- step                               VARCHAR  step, NULL if the file has none
-- type                               VARCHAR  rank or stage
-- ranks                              VARCHAR  rank, or the ranks of a stage, from the file
-- computing_us                       DOUBLE   time with a kernel computing, µs
-- communication_us                   DOUBLE   time with a collective running, µs
-- overlapped_us                      DOUBLE   of that, time with a kernel computing, µs
-- communication_not_overlapped_us    DOUBLE   of that, time with none, µs
-- free_us                            DOUBLE   time with neither, µs
-- stage_us                           DOUBLE   length of the step without the bubble, µs
-- bubble_us                          DOUBLE   time of receiving between stages, µs
-- not_overlapped_exclude_receive_us  DOUBLE   communication_not_overlapped without the bubble, µs
-- preparing_us                       DOUBLE   from the step's start to the device's first activity,
--                                             µs
-- elapsed_us                         DOUBLE   computing + communication_not_overlapped + free, µs
-- gap_us                             DOUBLE   elapsed_us - stage_us - bubble_us, 0 except for
--                                             rounding; NULL for a stage, whose columns are maxima
--                                             over its ranks
CREATE VIEW step_trace_times AS
WITH typed AS (
    SELECT
        trace_id, event_id,
        max(value) FILTER (header = 'step') AS step,
        coalesce(max(value) FILTER (header = 'type'), 'rank') AS type,
        max(value) FILTER (header = 'index') AS ranks,
        TRY_CAST(max(value) FILTER (header = 'deviceid') AS INTEGER) AS device,
        TRY_CAST(max(value) FILTER (header = 'computing') AS DOUBLE) AS computing_us,
        TRY_CAST(max(value) FILTER (header = 'communication') AS DOUBLE) AS communication_us,
        TRY_CAST(max(value) FILTER (header = 'overlapped') AS DOUBLE) AS overlapped_us,
        TRY_CAST(max(value) FILTER (header = 'communicationnotoverlapped') AS DOUBLE)
            AS communication_not_overlapped_us,
        TRY_CAST(max(value) FILTER (header = 'free') AS DOUBLE) AS free_us,
        TRY_CAST(max(value) FILTER (header = 'stage') AS DOUBLE) AS stage_us,
        TRY_CAST(max(value) FILTER (header = 'bubble') AS DOUBLE) AS bubble_us,
        TRY_CAST(
            max(value) FILTER (
                header = 'communicationnotoverlappedandexcludereceive'
            ) AS DOUBLE
        ) AS not_overlapped_exclude_receive_us,
        TRY_CAST(max(value) FILTER (header = 'preparing') AS DOUBLE) AS preparing_us
    FROM _companion_cells
    WHERE kind = 'step_trace_time'
    GROUP BY trace_id, event_id
)
SELECT
    typed.trace_id,
    CASE
        WHEN type = 'stage' THEN NULL
        WHEN ranks IS NOT NULL THEN TRY_CAST(ranks AS INTEGER)
        ELSE traces.rank
    END AS rank,
    coalesce(device, -1) AS device, step, type, ranks, computing_us, communication_us,
    overlapped_us, communication_not_overlapped_us, free_us, stage_us, bubble_us,
    not_overlapped_exclude_receive_us, preparing_us,
    computing_us + communication_not_overlapped_us + free_us AS elapsed_us,
    CASE
        WHEN type <> 'stage'
            THEN computing_us + communication_not_overlapped_us + free_us - stage_us
                - coalesce(bubble_us, 0)
    END AS gap_us
FROM typed
JOIN traces USING (trace_id);
