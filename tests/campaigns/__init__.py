"""Long commands that look for faults; each also runs briefly in the ordinary test suite."""
