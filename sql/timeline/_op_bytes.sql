-- One row per trace and distinct call of an operator that only moves and changes elements, with a
-- rule for its bytes.
-- trace_id  VARCHAR  trace
-- work_id   UBIGINT  the call
-- bytes     DOUBLE   bytes read and written
CREATE VIEW _op_bytes AS
WITH ruled AS (
    SELECT i.trace_id, i.work_id, i.input_dims, i.types, r.reads, r.writes
    FROM _op_inputs AS i
    JOIN trace_op_rules AS r ON r.priority = i.priority AND r.family = 'memory'
),
tensors AS (
    SELECT
        trace_id, work_id, slot, types[slot + 1] AS token,
        TRY_CAST(json_extract(input_dims, '$[' || slot || ']') AS BIGINT[]) AS dims
    FROM (
        SELECT trace_id, work_id, input_dims, types, unnest(range(len(types))) AS slot FROM ruled
    )
),
sized AS (
    SELECT
        t.trace_id, t.work_id, t.slot, _dims_product(t.dims) AS items,
        _dims_product(t.dims) * d.bytes AS bytes, t.dims, d.bytes AS item_bytes
    FROM tensors AS t
    JOIN dtypes AS d ON d.token = t.token
    WHERE len(t.dims) > 0
),
shared AS (
    SELECT
        trace_id, work_id, sum(bytes) AS all_bytes, max(items) AS result_items,
        min_by(item_bytes, slot) AS result_item_bytes
    FROM sized
    GROUP BY trace_id, work_id
),
slots AS (
    SELECT trace_id, work_id, TRY_CAST(unnest(string_split(reads, ';')) AS INTEGER) AS slot
    FROM ruled
    UNION ALL
    SELECT trace_id, work_id, TRY_CAST(unnest(string_split(writes, ';')) AS INTEGER)
    FROM ruled
),
named AS (
    SELECT trace_id, work_id, sum(bytes) AS bytes
    FROM slots
    JOIN sized USING (trace_id, work_id, slot)
    GROUP BY trace_id, work_id
),
places AS (
    -- The tensor that says which rows or elements of the first one: the next one.
    SELECT
        trace_id, work_id, arg_min(items, slot) AS items, arg_min(bytes, slot) AS bytes,
        arg_min(dims, slot) AS dims
    FROM sized
    WHERE slot > 0
    GROUP BY trace_id, work_id
),
taken AS (
    SELECT
        r.trace_id, r.work_id, t.bytes AS table_bytes,
        t.item_bytes * i.items
        * CASE r.reads
            WHEN 'rows' THEN t.items / nullif(t.dims[1], 0)
            -- The dimension is an argument and not known here: the least it may be.
            WHEN 'chosen' THEN t.items / nullif(list_max(t.dims), 0)
            WHEN 'elements' THEN 1
        END AS bytes,
        -- One of more dimensions may be a column that is seen as often as a row is wide.
        i.bytes / CASE WHEN r.reads = 'elements' AND len(i.dims) > 1 THEN i.dims[-1] ELSE 1 END
            AS place_bytes
    FROM ruled AS r
    JOIN sized AS t ON t.trace_id = r.trace_id AND t.work_id = r.work_id AND t.slot = 0
    JOIN places AS i ON i.trace_id = r.trace_id AND i.work_id = r.work_id
    WHERE r.reads IN ('rows', 'chosen', 'elements')
)
SELECT
    r.trace_id, r.work_id,
    CASE
        -- Of a table no more is read than it has.
        WHEN r.reads IN ('rows', 'chosen', 'elements')
            THEN least(taken.bytes, table_bytes) + taken.bytes + place_bytes
        ELSE
            coalesce(named.bytes, 0) + CASE WHEN r.reads = 'all' THEN s.all_bytes ELSE 0 END
            + CASE WHEN r.writes = 'result' THEN s.result_items * s.result_item_bytes ELSE 0 END
    END AS bytes
FROM ruled AS r
LEFT JOIN shared AS s USING (trace_id, work_id)
LEFT JOIN named USING (trace_id, work_id)
LEFT JOIN taken USING (trace_id, work_id);
