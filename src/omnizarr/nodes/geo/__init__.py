"""`array.geo` and `group.geo`: nodes on a map."""
