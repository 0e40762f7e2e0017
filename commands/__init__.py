"""The commands, a module per subject. Heavy libraries are imported in the command that needs them."""
