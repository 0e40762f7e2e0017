"""Replicas of other tools' reports, errors included; nothing else reads them."""

from .lake import Compat

__all__ = ["Compat"]
