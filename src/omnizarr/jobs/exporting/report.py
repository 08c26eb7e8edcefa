"""What an export did: facts, as an object, as JSON and as a table."""

from __future__ import annotations

from dataclasses import dataclass

from omnizarr.jobs.report import Facts, Report, table
from omnizarr.runtime.progress import duration, size


@dataclass(frozen=True)
class ExportedArray(Facts):
    """An array that was written."""

    path: str
    """Relative to the node that was exported."""
    shape: tuple[int, ...]
    """Its shape."""
    dtype: str
    """Its data type, as text."""
    nbytes: int
    """Bytes of all values, without compression."""


@dataclass(frozen=True)
class ExportReport(Report):
    """The result of `export`; print it for a table.

    Examples
    --------
    >>> report = omnizarr.export(omnizarr.array([1.5, 2.5]), "values.h5")
    >>> report.to, [array.path for array in report.arrays]
    ('hdf5', [''])
    """

    to: str
    """The format of the file."""
    source: str
    """The node, as text."""
    destination: str
    """The file."""
    arrays: tuple[ExportedArray, ...]
    """One row for every array."""
    seconds: float
    """How long it took."""
    dry_run: bool = False
    """Whether nothing was written."""
    verified: bool = False
    """Whether every value was read back and compared."""
    file_size: int = 0
    """Bytes of the file."""

    @property
    def bytes_read(self) -> int:
        """Bytes of all values, without compression."""
        return 0 if self.dry_run else sum(array.nbytes for array in self.arrays)

    @property
    def bytes_written(self) -> int:
        """Bytes of the file."""
        return self.file_size

    def __str__(self) -> str:
        lines = [("array", "shape", "type", "size")]
        lines += [
            ("/" + array.path, "×".join(map(str, array.shape)), array.dtype, size(array.nbytes))
            for array in self.arrays
        ]
        return "\n".join([*table(lines), self._summary()])

    def _summary(self) -> str:
        count = f"{len(self.arrays)} array{'s' * (len(self.arrays) != 1)} as {self.to}"
        if self.dry_run:
            return f"{count}; nothing was written (dry run)"
        verified = ", every value verified" if self.verified else ""
        return f"{count}; {size(self.file_size)} written in {duration(self.seconds)}{verified}"
