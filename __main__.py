"""`python -m tracelake`."""

from .cli import main

main()
