"""`numcodecs.jenkins_lookup3`: Jenkins' lookup3 hash as HDF5 uses it, appended in four bytes.

v2: `jenkins_lookup3`. Configuration: `initval`, a seed, and `prefix`, bytes that are hashed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from omnizarr.codecs.base import BytesStage, CodecKind, Context, Step
from omnizarr.codecs.checksums import checksum_step
from omnizarr.codecs.configuration import configured, integer
from omnizarr.codecs.document import CodecDocument
from omnizarr.codecs.loader import library
from omnizarr.errors import MetadataError
from omnizarr.model.codec import CodecSpec
from omnizarr.model.json import show

NAME = "numcodecs.jenkins_lookup3"


@dataclass(frozen=True)
class JenkinsLookup3Codec(CodecDocument):
    kind: ClassVar[CodecKind] = "bytes-bytes"
    initval: int = 0
    prefix: bytes = b""

    @classmethod
    def from_spec(cls, spec: CodecSpec, context: Context) -> JenkinsLookup3Codec:
        prefix = spec.configuration.get("prefix") or b""
        try:
            # numcodecs stores the prefix as a list of numbers, or leaves it out. Iterating refuses
            # a single number n, for which bytes(n) would allocate n bytes.
            prefix = prefix.encode() if isinstance(prefix, str) else bytes(iter(prefix))
        except (TypeError, ValueError) as error:
            raise MetadataError(f"codec {NAME!r}: prefix {show(prefix)} is no bytes") from error
        return cls(integer(spec, "initval", 0, 0, 2**32 - 1), prefix)

    def spec(self) -> CodecSpec:
        prefix = list(self.prefix) or None
        return configured(NAME, {"initval": self.initval, "prefix": prefix})

    def prepare(self, stage: BytesStage) -> Step:
        hashed = library("numcodecs.jenkins", NAME).jenkins_lookup3
        initval, prefix = self.initval, np.frombuffer(self.prefix, np.uint8)

        def compute(data: Any) -> int:
            octets = np.frombuffer(data, np.uint8)
            return int(hashed(np.concatenate([prefix, octets]) if prefix.size else octets, initval))

        return checksum_step(NAME, stage, compute)
