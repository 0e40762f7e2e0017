"""Output of answers: tables, Markdown, CSV, JSON, main columns, files, progress."""
