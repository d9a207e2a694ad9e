"""The kernel files that rows launch: made here, or in a comparison by this tree for both."""

from __future__ import annotations

from pathlib import Path

IMAGES = {"bench3": 3, "bench4": 4, "bench7": 7, "bench8": 8, "once": 4, "bench_triton": None}
"""Names and numbers of arguments of the kernels; None where their producer tells them elsewhere."""
_given: dict[str, bytes] = {}


def image(name: str) -> bytes:
    """Return the file of one of `IMAGES`."""
    if name not in _given:
        _given[name] = _made(name, IMAGES[name])
    return _given[name]


def _made(name: str, arguments: int | None) -> bytes:
    from chips.binary.writer import KernelText, write_elf
    from runtime.cli.sample import minimal_kernel

    if arguments is None:
        return write_elf([KernelText(name, name.encode().ljust(64, b"."))])
    return minimal_kernel(name, arguments)


def write(folder: Path) -> None:
    """Write all images for processes that measure other trees."""
    for name in IMAGES:
        (folder / name).write_bytes(image(name))


def read(folder: Path) -> None:
    """Take the images from a folder that `write` has filled: an older tree may make others, or none."""
    _given.update((name, (folder / name).read_bytes()) for name in IMAGES)
