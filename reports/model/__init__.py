"""The report on a model's modelled cost."""
