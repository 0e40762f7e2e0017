"""What an assistant is given: the questions of the command line as tools of the Model Context Protocol (MCP)."""
