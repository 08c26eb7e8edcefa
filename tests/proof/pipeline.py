"""A pytest plugin: zarr-python's own tests, with omnizarr's codec pipeline configured."""

import os
import sys
from pathlib import Path

NAME = "omnizarr.integrations.zarr_python.CodecPipeline"
# Not `zarr.config.set`: the tests reset the configuration to the environment's.
os.environ["ZARR_CODEC_PIPELINE__PATH"] = NAME

# omnizarr is on the path but not installed: give processes that the tests start its entry point.
place = Path(os.environ["PROOF_RUN"]).parent / "installed"
package = place / "omnizarr_pipeline-0.dist-info"
package.mkdir(parents=True, exist_ok=True)
(package / "METADATA").write_text("Metadata-Version: 2.1\nName: omnizarr-pipeline\nVersion: 0\n")
module, _, attribute = NAME.rpartition(".")
(package / "entry_points.txt").write_text(
    f"[zarr.codec_pipeline]\nomnizarr = {module}:{attribute}\n"
)
sys.path.insert(0, str(place))
os.environ["PYTHONPATH"] = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])

import omnizarr.integrations.zarr_python  # noqa: E402, F401  # zarr may be imported already
