"""The assistant's interface: the questions of the command line as tools of the Model Context Protocol (MCP)."""
