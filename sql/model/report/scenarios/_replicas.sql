-- Number of replicas of a layout: all their ranks share experts.
CREATE MACRO _replicas(tp, ep, tp_shares_experts) AS
CASE WHEN tp_shares_experts THEN greatest(ep // tp, 1) ELSE ep END;
