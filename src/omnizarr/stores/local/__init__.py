"""Files below a directory, and what other stores on files share with it."""
