"""Commands that judge and compare what is stored."""
