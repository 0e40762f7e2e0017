-- One row per pass and layer whose attention has other shapes than that of another layer with the
-- same kernels. Shapes that occur in a single layer decide nothing: it has no row, nor do layers
-- without shapes.
CREATE VIEW _layer_shapes AS
WITH shapes AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id,
        list(k.input_dims ORDER BY k.position) AS shapes
    FROM layer_kernels AS k
    JOIN category_groups AS g ON g.category = k.category AND g.told_by = 'call'
    GROUP BY k.trace_id, k.rank, k.device, k.pass_id, k.layer_id
    HAVING count(*) = count(k.input_dims)
),
alike AS (
    SELECT
        s.trace_id, s.rank, s.device, s.pass_id, s.layer_id, n.layer_kind,
        min(s.layer_id) OVER same AS first_layer
    FROM shapes AS s
    JOIN _layer_kinds AS n
        ON n.trace_id = s.trace_id
        AND n.device = s.device
        AND n.pass_id = s.pass_id
        AND n.layer_id = s.layer_id
    WINDOW same AS (
        PARTITION BY s.trace_id, s.device, s.pass_id, n.layer_kind, s.shapes
    )
    QUALIFY count(*) OVER same > 1
)
SELECT trace_id, rank, device, pass_id, layer_id, first_layer
FROM alike
WINDOW kind AS (PARTITION BY trace_id, device, pass_id, layer_kind)
QUALIFY min(first_layer) OVER kind < max(first_layer) OVER kind;

-- One row per pass and layer of a kind whose layers have two speeds: which of them the layer has.
-- The types of a model's layers repeat after a few layers: sliding, full, sliding, full. So does a
-- speed caused by the type. Chance does not, nor does a slow first layer or a slow drift: no layer
-- gets its speed from its own time, but from the median of all layers at its place in the period,
-- in all passes of a stage, each time over the median of its pass. The widest gap between these
-- medians separates the slow from the fast. Both speeds count if the layers themselves stay near
-- the median of their speed, relative to that gap; layer_kind_limits has the limit. The time of the
-- attention is tried first, then that of all compute; the shortest period that fits is used.
CREATE VIEW _layer_speeds AS
WITH limits AS (
    SELECT
        max(value) FILTER (kind_limit = 'longest_period') AS longest_period,
        max(value) FILTER (kind_limit = 'least_layers') AS least_layers,
        max(value) FILTER (kind_limit = 'least_times') AS least_times,
        max(value) FILTER (kind_limit = 'least_seen') AS least_seen,
        max(value) FILTER (kind_limit = 'least_difference') AS least_difference,
        max(value) FILTER (kind_limit = 'least_separation') AS least_separation
    FROM layer_kind_limits
),
sums AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id,
        sum(k.dur_us) FILTER (g.told_by = 'call') AS attention,
        -- Collectives wait for other ranks, copies for work elsewhere.
        sum(k.dur_us) FILTER (k.kind = 'compute') AS compute
    FROM layer_kernels AS k
    LEFT JOIN category_groups AS g ON g.category = k.category
    GROUP BY k.trace_id, k.rank, k.device, k.pass_id, k.layer_id
),
times AS (
    SELECT *
    FROM sums
    UNPIVOT (time_us FOR measure IN (attention, compute))
),
kinds AS (
    SELECT
        n.trace_id, n.rank, n.device, n.pass_id, n.layer_id, n.layer_kind,
        -- Grouping by a number is faster than by names.
        hash(
            n.trace_id, n.device, concat_ws(' ', p.series, p.stage), p.num_layers, n.layer_kind
        ) AS peers
    FROM _layer_kinds AS n
    JOIN passes AS p
        ON p.trace_id = n.trace_id
        AND p.device = n.device
        AND p.pass_id = n.pass_id
    WHERE p.num_layers IS NOT NULL
),
compared AS (
    -- Dividing by the median of the pass makes passes of different lengths comparable.
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, k.peers, t.measure,
        t.time_us / median(t.time_us) OVER (
            PARTITION BY k.trace_id, k.device, k.pass_id, k.layer_kind, t.measure
        ) AS value
    FROM times AS t
    JOIN kinds AS k
        ON k.trace_id = t.trace_id
        AND k.device = t.device
        AND k.pass_id = t.pass_id
        AND k.layer_id = t.layer_id
    WHERE t.time_us > 0
),
placed AS (
    SELECT u.peers, u.measure, n.period, u.layer_id % n.period AS place, u.layer_id, u.value
    FROM compared AS u
    CROSS JOIN limits AS l
    CROSS JOIN LATERAL (
        SELECT CAST(unnest(range(2, CAST(l.longest_period AS BIGINT) + 1)) AS BIGINT) AS period
    ) AS n
),
seats AS (
    SELECT
        peers, measure, period, place, median(value) AS value, count(*) AS times,
        count(DISTINCT layer_id) AS layers
    FROM placed
    GROUP BY peers, measure, period, place
),
ordered AS (
    SELECT
        s.peers, s.measure, s.period, s.place, s.value,
        s.value - lag(s.value) OVER by_value AS step,
        (s.value + lag(s.value) OVER by_value) / 2 AS middle
    FROM seats AS s
    CROSS JOIN limits AS l
    WINDOW
        one_period AS (PARTITION BY s.peers, s.measure, s.period),
        by_value AS (PARTITION BY s.peers, s.measure, s.period ORDER BY s.value, s.place)
    QUALIFY
        sum(s.times) OVER one_period >= l.least_seen
        AND bool_and(s.layers >= l.least_layers AND s.times >= l.least_times) OVER one_period
),
sided AS (
    SELECT
        peers, measure, period, place,
        value > arg_max(middle, (step, -middle)) FILTER (step IS NOT NULL) OVER (
            PARTITION BY peers, measure, period
        ) AS is_slow
    FROM ordered
),
sides AS (
    SELECT p.peers, p.measure, p.period, s.is_slow, median(p.value) AS centre
    FROM placed AS p
    JOIN sided AS s USING (peers, measure, period, place)
    GROUP BY p.peers, p.measure, p.period, s.is_slow
),
apart AS (
    SELECT s.peers, s.measure, s.period, s.is_slow, s.centre
    FROM sides AS s
    CROSS JOIN limits AS l
    WINDOW one_period AS (PARTITION BY s.peers, s.measure, s.period)
    QUALIFY
        count(*) OVER one_period = 2
        AND max(s.centre) OVER one_period
            >= min(s.centre) OVER one_period * (1 + l.least_difference)
),
widths AS (
    SELECT
        a.peers, a.measure, a.period, a.is_slow, any_value(a.centre) AS centre,
        quantile_cont(abs(p.value - a.centre), 0.9) AS width
    FROM apart AS a
    JOIN sided AS s
        ON s.peers = a.peers
        AND s.measure = a.measure
        AND s.period = a.period
        AND s.is_slow = a.is_slow
    JOIN placed AS p
        ON p.peers = s.peers
        AND p.measure = s.measure
        AND p.period = s.period
        AND p.place = s.place
    GROUP BY a.peers, a.measure, a.period, a.is_slow
),
fitting AS (
    SELECT w.peers, w.measure, w.period
    FROM widths AS w
    CROSS JOIN limits AS l
    GROUP BY w.peers, w.measure, w.period
    HAVING max(w.centre) - min(w.centre) >= any_value(l.least_separation) * max(w.width)
    QUALIFY row_number() OVER (PARTITION BY w.peers ORDER BY w.measure, w.period) = 1
)
SELECT c.trace_id, c.rank, c.device, c.pass_id, c.layer_id, s.is_slow
FROM compared AS c
JOIN fitting AS f ON f.peers = c.peers AND f.measure = c.measure
JOIN sided AS s
    ON s.peers = f.peers
    AND s.measure = f.measure
    AND s.period = f.period
    AND s.place = c.layer_id % f.period;

-- One row per pass and layer, with its type by the model's config, or its kind. Layers of a kind
-- run the same kernels, on attention of the same shapes, and are equally fast; kind_reason is the
-- first of these that distinguishes some of them. A config that tells only which layers have
-- experts says nothing of their attention: where layers of one type are of several kinds, they have
-- both.
--
-- stored: per trace
--
-- trace_id     VARCHAR  trace
-- rank         INTEGER  rank in the job, NULL if unknown
-- device       INTEGER  device the layer ran on
-- pass_id      BIGINT   pass, from 0 in time order
-- layer_id     BIGINT   layer, from 0
-- layer_type   VARCHAR  type by the model's config, NULL if unknown
-- layer_kind   VARCHAR  A for the kind of the pass's first layer, B for the next, and so on; NULL
--                       where the type is known, unless it tells only which layers have experts
--                       and its layers are of several kinds
-- kind_reason  VARCHAR  its source: config, kernels, shapes or times
-- wall_us      DOUBLE   start of its first kernel to the latest end
-- sum_us       DOUBLE   sum of the durations of its kernels, copies and fills
-- busy_us      DOUBLE   time with at least one of them running
CREATE VIEW _typed_layers AS
WITH given AS (
    SELECT
        k.trace_id, k.rank, k.device, k.pass_id, k.layer_id, k.layer_kind,
        -- Layers without shapes join the first group of layers with the same kernels.
        coalesce(s.first_layer, min(s.first_layer) OVER (
            PARTITION BY k.trace_id, k.device, k.pass_id, k.layer_kind
        )) AS shape,
        CASE WHEN s.first_layer IS NULL THEN p.is_slow END AS is_slow
    FROM _layer_kinds AS k
    LEFT JOIN _layer_shapes AS s
        ON s.trace_id = k.trace_id
        AND s.device = k.device
        AND s.pass_id = k.pass_id
        AND s.layer_id = k.layer_id
    LEFT JOIN _layer_speeds AS p
        ON p.trace_id = k.trace_id
        AND p.device = k.device
        AND p.pass_id = k.pass_id
        AND p.layer_id = k.layer_id
),
grouped AS (
    SELECT
        trace_id, rank, device, pass_id, layer_id,
        CASE
            WHEN shape IS NOT NULL THEN 'shapes'
            WHEN is_slow IS NOT NULL THEN 'times'
            ELSE 'kernels'
        END AS kind_reason,
        min(layer_id) OVER (
            PARTITION BY
                trace_id, device, pass_id, layer_kind, shape,
                CASE WHEN shape IS NULL THEN is_slow END
        ) AS first_layer
    FROM given
),
numbered AS (
    SELECT *, dense_rank() OVER pass - 1 AS number
    FROM grouped
    WINDOW pass AS (PARTITION BY trace_id, device, pass_id ORDER BY first_layer)
)
SELECT
    l.trace_id, l.rank, l.device, l.pass_id, l.layer_id, l.layer_type,
    CASE
        WHEN l.layer_type IS NULL
            OR (s.is_mlp_only AND min(k.number) OVER type < max(k.number) OVER type)
            THEN concat(chr(CAST(65 + k.number % 26 AS INTEGER)), nullif(k.number // 26, 0))
    END AS layer_kind,
    CASE WHEN l.layer_type IS NULL THEN k.kind_reason ELSE 'config' END AS kind_reason,
    l.wall_us, l.sum_us, l.busy_us
FROM layers AS l
JOIN _layer_settings AS s ON s.trace_id = l.trace_id
LEFT JOIN numbered AS k
    ON k.trace_id = l.trace_id
    AND k.device = l.device
    AND k.pass_id = l.pass_id
    AND k.layer_id = l.layer_id
WINDOW type AS (PARTITION BY l.trace_id, l.device, l.pass_id, l.layer_type);
