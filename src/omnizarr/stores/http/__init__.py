"""What a web server shows."""
