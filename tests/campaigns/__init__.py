"""Long commands that look for faults: `python -m tests.campaigns.<name>`. Each also runs briefly in
the ordinary test suite."""
