-- How many replicas a layout has: experts are shared by all their ranks.
CREATE MACRO _replicas(tp, ep, tp_shares_experts) AS
CASE WHEN tp_shares_experts THEN greatest(ep // tp, 1) ELSE ep END;
