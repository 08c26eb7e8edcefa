"""From a node of one format to the same node in another."""
