"""What a user writes: values, lazy data, columns of text and records."""
