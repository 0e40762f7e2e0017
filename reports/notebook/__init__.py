"""Display of a lake in a notebook: answers as tables, a trace in five lines, charts as altair objects, the page."""
