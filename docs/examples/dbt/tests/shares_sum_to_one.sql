SELECT trace_key, sum(share) AS total
FROM {{ ref('category_share') }}
GROUP BY trace_key
HAVING abs(sum(share) - 1) > 1e-9
