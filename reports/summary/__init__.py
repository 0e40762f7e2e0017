"""The profile summary of a trace."""
