"""The configuration, under the name that libraries import."""

from omnizarr.compat.zarr3 import config
from omnizarr.errors import ConfigError as BadConfigError

__all__ = ["BadConfigError", "config"]
