"""Replicas of other tools' reports, errors included; nothing else reads them."""
