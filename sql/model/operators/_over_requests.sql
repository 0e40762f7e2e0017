-- A sum over all requests of a scenario: that of its batch, or over groups of equal requests if it
-- has them: `_over_requests(requests, batch * n, lambda r: r.requests * n)`.
CREATE MACRO _over_requests(requests, of_batch, of_group) AS
CASE
    WHEN requests IS NULL THEN of_batch
    ELSE CAST(list_sum(list_transform(requests, of_group)) AS BIGINT)
END;
