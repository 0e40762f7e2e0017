"""What a notebook shows of a lake: answers as tables, a trace in five lines, charts as altair objects, the page."""
