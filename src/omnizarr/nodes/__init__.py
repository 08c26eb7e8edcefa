"""What a user holds: `Array`, `Group`, their attributes, views and information."""
