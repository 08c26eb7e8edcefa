"""The drafts of format 3: of 2019, and its two successors of 2020."""
