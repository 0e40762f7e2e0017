"""What is shown of one trace, or of two: layers, reports, Chrome traces, comparisons."""
