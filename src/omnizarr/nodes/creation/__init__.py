"""From the arguments of a user to a new node in a store."""
