"""Finds a chip by SoC name or by the hardware's version word.

No index of SoC names exists: the file of a SoC is the one with the longest stem that its name, in lower case, begins
with and that lists it. `Ascend910B3` is looked for in ascend910b.yaml; `Ascend910B`, a first-generation 910, is not
listed there and is found in ascend910.yaml. Only the files on the way are parsed (a few hundred microseconds each).

Chip files of others are found beside the shipped ones: in the folders that NPUHAL_CHIPS names, which win, and in the
folder `soc` of packages that are installed with an entry point in the group `npuhal.chips`, which come last.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import Any

from chips.chip import Chip, Limits, UnknownChip
from chips.schema import FamilyFile, SchemaError, Vocabulary, read_family, read_vocabulary
from chips.traits import SchedulerTraits
from chips.yaml_file import beside
from npuhal.late import logger
from npuhal.records import dataclass
from npuhal.words import close_names, shown

SOC_FOLDER = beside(__file__, "soc")
"""The chip files shipped with this package."""

VARIABLE = "NPUHAL_CHIPS"
"""Environment variable with folders of further chip files, separated like those of PATH."""

ENTRY_POINTS = "npuhal.chips"
"""Entry-point group in which other distributions offer chips: SQE builders (`chips.registry`) and chip files."""

_VOCABULARY = os.path.join(SOC_FOLDER, "vocabulary.yaml")
_LONGEST_NAME = 256
_NOT_FAMILIES = frozenset({"vocabulary", "detect"})
_LOG = logger(__name__)
_PREFIX = "ascend"
_SHOWN = 6
"""Names that are suggested."""

_OVERLAYS = (
    ("SoCInfo", "normal_stream_num", "maxAllocStreamNum"),
    ("SoCInfo", "normal_stream_depth", "rtsqDepth"),
    ("SoCInfo", "huge_stream_num", "maxAllocHugeStreamNum"),
    ("SoCInfo", "huge_stream_depth", "maxTaskNumPerHugeStream"),
    ("DieInfo", "io_die_num", "ioDieNum"),
)
"""Description values that replace a property unless they are 0 or absent (UpdateDevProperties)."""


_STATED_LIMITS = frozenset({"max_sqe_per_task", "streams", "events", "notifies"})
"""The limits that chip files state; the others follow from properties."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """The chip files of some folders; earlier folders win."""

    folders: tuple[str | os.PathLike[str], ...] = (SOC_FOLDER,)

    @classmethod
    def including(cls, *folders: str | os.PathLike[str]) -> Catalog:
        """Return the shipped catalog with folders of further chip files in front."""
        return cls((*folders, SOC_FOLDER))

    def stems(self) -> dict[str, str]:
        """Return the chip files by stem; listing a folder parses nothing."""
        files: dict[str, str] = {}
        for folder in self.folders:
            for name in sorted(_names_in(folder)):
                stem, dot, suffix = name.rpartition(".")
                if dot and suffix == "yaml" and stem not in _NOT_FAMILIES:
                    files.setdefault(stem, os.path.join(folder, name))
        return files

    def find(self, soc: str) -> Chip:
        """Return the chip of a SoC or family name, in any case, with or without the leading "Ascend".

        A family's name (`ascend950`) gives the SoC that its file calls the default, and so does the beginning of names
        that all stand in one file (`ascend950pr`): the log says which SoC that is. UnknownChip names the SoCs that
        begin so, or the closest ones.
        """
        if len(soc) > _LONGEST_NAME:
            raise UnknownChip(f"no chip file describes the SoC {shown(soc)}: none is longer than {_LONGEST_NAME}")
        wanted = soc.strip().lower()
        files = self.stems()
        for name in (wanted, _PREFIX + wanted):
            exact = self._listed(name, files)
            if exact is not None:
                return exact
        for name in (wanted, _PREFIX + wanted):
            if name in files and (default := self._family(files[name]).texts.get("default")):
                chip = self._listed(default.lower(), files)
                if chip is not None:
                    return chip
        begin = [chip for chip in self.all_socs() if chip.lower().startswith((wanted, _PREFIX + wanted))]
        if begin and wanted not in ("", _PREFIX):
            chips = [self.find(chip) for chip in begin]
            if len({chip.family for chip in chips}) == 1:
                default = self._family(files[chips[0].family]).texts.get("default", "")
                found = next((chip for chip in chips if chip.soc == default), chips[0])
                _LOG.warning("SoC %r is taken for %s; others that begin so: %d", soc, found.soc, len(chips) - 1)
                return found
        by_lower = {name.lower(): name for name in self.all_socs()}
        near = [by_lower[name] for name in close_names(wanted, by_lower, 4, 0.5)]
        raise UnknownChip(f"no chip file describes the SoC {shown(soc)}; {self._suggestion(begin, near)}")

    def _suggestion(self, begin: list[str], near: list[str]) -> str:
        """Return the cure of an unknown name, given the SoCs that begin so, else those of a similar name."""
        if begin:  # one of each family, the largest families first
            families: dict[str, list[str]] = {}
            for soc in begin:
                families.setdefault(self.find(soc).family, []).append(soc)
            files = self.stems()
            names = []
            for family, socs in sorted(families.items(), key=lambda each: -len(each[1]))[:_SHOWN]:
                usual = self._family(files[family]).texts.get("default", "")
                names.append((usual if usual in socs else socs[0]).lower())
            more = len(begin) - len(names)
            return f"these begin so: {', '.join(names)}{f' and {more} more' if more else ''}"
        return f"did you mean {' or '.join(near)}?" if near else "`npuhal info --chips` lists all"

    def all_socs(self) -> tuple[str, ...]:
        """Return every SoC name, sorted (reads all chip files)."""
        return tuple(sorted({soc for path in self.stems().values() for soc in self._family(path).socs}))

    def of_type(self, name: str) -> tuple[str, ...]:
        """Return the SoC names of a chip type, e.g. CHIP_DAVID."""
        return tuple(soc for soc in self.all_socs() if self.find(soc).chip_type == name)

    def _listed(self, lower: str, files: Mapping[str, str]) -> Chip | None:
        """Look a lower-case SoC name up in the files whose stem it begins with, longest stem first."""
        for end in range(len(lower), 0, -1):
            path = files.get(lower[:end])
            if path is None:
                continue
            for soc in self._family(path).socs:
                if soc.lower() == lower:
                    return _build(soc, self._chain(path, files))
        return None

    def _chain(self, path: str, files: Mapping[str, str]) -> tuple[FamilyFile, ...]:
        """Return the file and its bases, root first."""
        chain = [self._family(path)]
        while base := chain[-1].base:
            if base not in files or any(base == member.stem for member in chain):
                problem = "is its own base" if base in files else f"no chip file {base}.yaml"
                raise SchemaError(chain[-1].path, "base", f"{base!r}: {problem}")
            chain.append(self._family(files[base]))
        return tuple(reversed(chain))

    @staticmethod
    def _family(path: str) -> FamilyFile:
        try:
            modified_ns = os.stat(path).st_mtime_ns
        except NotADirectoryError:  # in a zip file, which nobody edits
            modified_ns = 0
        return _read(path, modified_ns)


def _names_in(folder: str | os.PathLike[str]) -> list[str]:
    try:
        return os.listdir(folder)
    except NotADirectoryError:
        if folder != SOC_FOLDER:
            raise
    from importlib.resources import files  # these packages were imported from a zip file

    return [each.name for each in files(__package__).joinpath(os.path.basename(SOC_FOLDER)).iterdir()]


def find_chip(soc: str) -> Chip:
    """Return a chip by SoC or family name, in any case, "Ascend" left out or not; see `Catalog.find`.

    SchemaError names a folder in NPUHAL_CHIPS that is none.
    """
    return _found(soc, os.environ.get(VARIABLE, ""))


def families_with(feature: str) -> tuple[str, ...]:
    """Return the shipped families whose default SoC has a feature, by name (reads all chip files)."""
    known = Catalog.including()
    return tuple(family for family in known.stems() if _default_has(known, family, feature))


def _default_has(known: Catalog, family: str, feature: str) -> bool:
    try:
        return known.find(family).has(feature)
    except UnknownChip:  # a file that only others start from
        return False


def all_socs() -> tuple[str, ...]:
    """Return the names of all SoCs, those of NPUHAL_CHIPS and of installed packages among them, sorted."""
    return _everything(os.environ.get(VARIABLE, "")).all_socs()


@cache
def _found(soc: str, named: str) -> Chip:
    with suppress(UnknownChip):
        return Catalog.including(*_named_folders(named)).find(soc)
    return _everything(named).find(soc)  # with what is installed, which takes much longer to read


def _everything(named: str) -> Catalog:
    return Catalog((*_named_folders(named), SOC_FOLDER, *_installed_folders()))


def _named_folders(named: str) -> list[str]:
    folders = [name for name in named.split(os.pathsep) if name]
    for folder in folders:
        if not os.path.isdir(folder):
            raise SchemaError(folder, VARIABLE, "no folder with chip files")
    return folders


@cache
def _installed_folders() -> tuple[str, ...]:
    """Return the chip file folders of installed packages; none of them is imported."""
    from importlib.metadata import entry_points  # late: it takes longer to load than all chips

    folders = []
    for entry in entry_points(group=ENTRY_POINTS):
        spec = importlib.util.find_spec(entry.value.partition(":")[0].strip().partition(".")[0])
        found = (spec and spec.submodule_search_locations) or ()
        folders += [folder for root in found if os.path.isdir(folder := os.path.join(root, "soc"))]
    return tuple(dict.fromkeys(folders))


def vocabulary() -> Vocabulary:
    """Return the names of all features and property enumerators."""
    return read_vocabulary(_VOCABULARY)


@cache
def _read(path: str, modified_ns: int) -> FamilyFile:
    """Read a chip file once; an edited file is another key."""
    return read_family(path, vocabulary())


@cache
def _build(soc: str, chain: tuple[FamilyFile, ...]) -> Chip:
    """Lay the files of a family over each other, root first, then the SoC's row, then the description's overlay."""
    texts: dict[str, str] = {}
    chip_type: tuple[str, int] | None = None
    limits: dict[str, int] = {}
    properties: dict[str, Any] = {}
    traits: dict[str, Any] = {}
    dynamic_bind: dict[str, Any] = {}
    features: frozenset[str] = frozenset()
    ini: dict[str, dict[str, int | str]] = {}
    for family in chain:
        texts.update(family.texts)
        chip_type = family.chip_type or chip_type
        limits.update(family.limits)
        _check_against_base(family, properties, features)
        properties.update(family.properties)
        traits.update(family.traits)
        dynamic_bind.update(family.dynamic_bind)
        if family.features_only is not None:
            features = family.features_only
        else:
            features = (features | family.features_add) - family.features_drop
        for section, values in family.ini.items():
            for key, value in values.items():
                _set(ini, section, key, value)
    last = chain[-1]
    for section, key, value in last.row(soc):
        if section == "chip_type":
            chip_type = (str(value), vocabulary().chip_types[str(value)])
        elif section == "traits":
            traits[key] = value
        elif section == "properties":
            _check_property(last, key, value, properties)
            properties[key] = value
        else:
            _set(ini, section, key, value)
    if chip_type is None:
        raise SchemaError(last.path, "chip_type", "stated neither here nor in a base")
    if ini:
        _set(ini, "version", "SoC_version", soc)
        _set(ini, "version", "Chip_type", chip_type[1])
        _overlay(properties, ini)
    scheduler = SchedulerTraits(**traits)
    return Chip(
        soc=soc,
        family=last.stem,
        chip_type=chip_type[0],
        chip_value=chip_type[1],
        generation=texts["generation"],
        overlay=texts.get("overlay", ""),
        library=texts["library"],
        binaries=texts.get("binaries", ""),
        properties=MappingProxyType(properties),
        dynamic_bind=MappingProxyType(dynamic_bind),
        traits=scheduler,
        features=features,
        ini=MappingProxyType({section: MappingProxyType(values) for section, values in ini.items()}),
        limits=_limits(properties, scheduler, limits),
    )


def _check_against_base(family: FamilyFile, properties: Mapping[str, Any], features: frozenset[str]) -> None:
    """Refuse an unknown property, a value of another kind, and a feature that the base settles already."""
    if not family.base:
        return
    for name, value in (*family.properties.items(), *family.dynamic_bind.items()):
        _check_property(family, name, value, properties)
    for name in family.limits.keys() - _STATED_LIMITS:
        raise SchemaError(family.path, f"limits:{name}", f"unknown limit; known: {', '.join(sorted(_STATED_LIMITS))}")
    vain = (family.features_drop - features) | (family.features_add & features)
    if vain:
        raise SchemaError(family.path, "features", f"{', '.join(sorted(vain))}: the base already says so")


def _check_property(family: FamilyFile, name: str, value: Any, properties: Mapping[str, Any]) -> None:
    key = f"properties:{name}"
    if name not in properties:
        near = close_names(name, properties)
        hint = f"; close: {', '.join(near)}" if near else ""
        raise SchemaError(family.path, key, f"unknown property{hint}")
    kinds = {type(value), type(properties[name])}
    if len(kinds) > 1 and kinds != {int, float}:
        raise SchemaError(family.path, key, f"expected {type(properties[name]).__name__}, got {value!r}")


def _set(ini: dict[str, dict[str, int | str]], section: str, key: str, value: int | str | None) -> None:
    """Set a description value; None removes it."""
    if value is None:
        ini.get(section, {}).pop(key, None)
    else:
        ini.setdefault(section, {})[key] = value


def _overlay(properties: dict[str, Any], ini: Mapping[str, Mapping[str, int | str]]) -> None:
    """Let the SoC description replace stream counts, depths, die count and architecture (core start, step 3)."""
    for section, key, name in _OVERLAYS:
        value = ini.get(section, {}).get(key)
        if not isinstance(value, int) or value == 0:
            continue
        properties[name] = value
        if name == "rtsqDepth":
            reserved = properties["rtsqReservedTaskNum"]
            if reserved == 0:
                properties["maxTaskNumPerStream"] = value
            elif value > reserved:
                properties["maxTaskNumPerStream"] = value - reserved
    architecture = ini.get("version", {}).get("NpuArch")
    if isinstance(architecture, int):
        properties["npuArch"] = architecture


def _limits(properties: Mapping[str, Any], traits: SchedulerTraits, stated: Mapping[str, int]) -> Limits:
    depth = traits.command_depth or properties["rtsqDepth"]
    return Limits(
        rtsq_depth=depth,
        reserved_tasks=properties["rtsqReservedTaskNum"],
        max_tasks_per_stream=properties["maxTaskNumPerStream"],
        max_persistent_tasks=properties["maxPersistTaskNum"],
        max_tasks=properties["maxSupportTaskNum"],
        pending_max=depth * 3 // 4,
        max_streams=properties["maxAllocStreamNum"],
        max_physical_streams=properties["maxPhysicalStreamNum"],
        max_huge_streams=properties["maxAllocHugeStreamNum"],
        huge_stream_depth=properties["maxTaskNumPerHugeStream"],
        cqe_size=properties["cqeSize"],
        cqe_depth=properties["cqeDepth"],
        rtcq_depth=properties["rtcqDepth"],
        event_count=properties["stubEventCount"],
        **stated,
    )
