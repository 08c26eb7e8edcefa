"""A pytest plugin: zarr-python's own tests, with omnizarr's codec pipeline configured."""

import os

NAME = "omnizarr.integrations.zarr_python.CodecPipeline"
# Not `zarr.config.set`: the tests reset the configuration to the environment's.
os.environ["ZARR_CODEC_PIPELINE__PATH"] = NAME

import omnizarr.integrations.zarr_python  # noqa: E402, F401  # src is on the path, not installed
