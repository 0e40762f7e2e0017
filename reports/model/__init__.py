"""The report on what a model should cost."""
