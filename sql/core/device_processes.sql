-- One row per process of a trace that has device events: the number of its device. The number comes
-- from the process's name or label, else it is the one that all its events name, else the process's
-- own number, which is the device in Kineto traces; the others are numbered in order of appearance,
-- behind these if they would meet. In an Ascend trace whose rows all have one device, it is that
-- device; a timeline's process without a number is device 0. Events that name a device themselves
-- belong to that one, unless merged_device is set.
--
-- key: trace_id, pid
--
-- trace_id       VARCHAR  trace
-- pid            VARCHAR  process
-- device         INTEGER  device
-- merged_device  INTEGER  the device, if the file was merged from several ranks and uses a number
--                         for GPUs of several of them: from 0, in order of ranks and of the file's
--                         numbers; NULL in any other trace
CREATE VIEW device_processes AS
WITH processes AS (
    SELECT
        trace_id, pid, _scope(pid) AS rank_text, min(event_id) AS first_id,
        if(min(device) = max(device), min(device), NULL) AS own_number,
        coalesce(min(device) < max(device), FALSE) AS is_host
    FROM events
    WHERE lane = 'device' AND pid IS NOT NULL
    GROUP BY trace_id, pid
),
named AS (
    SELECT
        trace_id, pid, coalesce(min(device), any_value(if(format = 'ascend', 0, NULL))) AS device,
        any_value(format) AS format
    FROM _lines
    JOIN traces USING (trace_id)
    GROUP BY trace_id, pid
),
described AS (
    SELECT
        trace_id, pid, first_id, rank_text, is_host,
        coalesce(
            _ascend_devices.device, named.device, own_number,
            TRY_CAST(if(rank_text = '', pid, split_part(pid, ']', 2)) AS INTEGER)
        ) AS number,
        coalesce(named.device = own_number AND format IN ('kineto', 'chrome'), FALSE)
            AS is_labelled
    FROM processes
    LEFT JOIN _ascend_devices USING (trace_id)
    LEFT JOIN named USING (trace_id, pid)
),
-- In Kineto's traces a process with device events is a device: all of its events have its number,
-- and its label names it. A file merged from several ranks repeats numbers: of each node, or of
-- each rank that sees one GPU. Two processes with one number are two GPUs if the merge says that
-- they are of different ranks (_scope), or if both are labelled as that GPU, which one file does
-- once. Other processes with one number may be streams, or programs that share a GPU: one device.
copied AS (
    SELECT
        trace_id, pid, first_id, number, rank_text, is_host,
        -- Place among the processes of a rank that are labelled as this number, 1 for any other.
        CASE
            WHEN is_labelled
                THEN row_number() OVER (
                    PARTITION BY trace_id, rank_text, number, is_labelled ORDER BY first_id, pid
                )
            ELSE 1
        END AS copy
    FROM described
),
numbered AS (
    SELECT
        trace_id, pid, first_id, number,
        CASE
            WHEN number IS NOT NULL AND bool_or(is_repeated AND NOT is_any_host) OVER of_trace
                -- Text of more digits is a higher rank.
                THEN dense_rank() OVER (
                    PARTITION BY trace_id, number IS NULL
                    ORDER BY length(rank_text), rank_text, copy, number
                ) - 1
        END AS merged_device
    FROM (
        SELECT
            trace_id, pid, first_id, number, rank_text, copy,
            min((rank_text, copy)) OVER one_number < max((rank_text, copy)) OVER one_number
                AS is_repeated,
            bool_or(is_host) OVER (PARTITION BY trace_id) AS is_any_host
        FROM copied
        WINDOW one_number AS (PARTITION BY trace_id, number)
    )
    WINDOW of_trace AS (PARTITION BY trace_id)
),
found AS (
    SELECT
        trace_id, pid, first_id, CAST(merged_device AS INTEGER) AS merged_device,
        coalesce(CAST(merged_device AS INTEGER), number) AS device
    FROM numbered
)
SELECT
    trace_id, pid,
    CAST(coalesce(
        device,
        row_number() OVER (PARTITION BY trace_id, device IS NULL ORDER BY first_id, pid)
        - CASE WHEN min(device) FILTER (device >= 0) OVER of_trace < count(*) OVER of_trace
            -- Half of the largest number: behind a larger one there may be none left.
            THEN -coalesce(max(device) FILTER (device < 1 << 30) OVER of_trace, 0)
            ELSE 1
        END
    ) AS INTEGER) AS device,
    merged_device
FROM found
WINDOW of_trace AS (PARTITION BY trace_id);
