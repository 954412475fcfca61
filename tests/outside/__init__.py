"""What others might add: one file each, and a line to register it, as docs/extending.md says."""
