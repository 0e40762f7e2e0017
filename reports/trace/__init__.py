"""Output about one trace, or two: layers, reports, Chrome traces, comparisons."""
