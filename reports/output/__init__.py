"""How answers look: tables, Markdown, CSV, JSON, columns shown first, files, progress."""
