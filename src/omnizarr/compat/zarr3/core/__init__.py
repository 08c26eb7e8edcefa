"""Names of `zarr.core` that other libraries import: renamed, translated, never a second engine."""
