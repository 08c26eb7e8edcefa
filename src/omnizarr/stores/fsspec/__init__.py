"""Any filesystem of fsspec."""
