-- Time in µs in which a rank sends so many bytes in a group of ranks. Within a domain its links
-- carry them; beyond, the slower of links and network counts, and an all-reduce sums up within the
-- domains first.
CREATE MACRO _network_us(sent, reduces, ranks, domain_size, link_gbps, scaleout_gbps) AS CASE
    WHEN ranks <= coalesce(domain_size, ranks) THEN sent / link_gbps / 1e3
    ELSE greatest(
        sent * CASE WHEN reduces THEN 1 ELSE domain_size / ranks END / link_gbps,
        sent * CASE WHEN reduces THEN 1 / domain_size ELSE 1 - domain_size / ranks END
        / scaleout_gbps
    ) / 1e3
END;
