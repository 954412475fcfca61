"""Everything that has epochs."""
