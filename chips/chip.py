"""What the runtime knows about one Ascend chip: immutable facts, resolved once from the chip files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chips.traits import SchedulerTraits
from npuhal.records import dataclass
from npuhal.words import close_names

DEFAULT_PADDING = 32
"""Padding in bytes when a chip's description has none (core rule of AICoreSpec/padding_size)."""


class UnknownChip(LookupError):
    """No chip description answers to the given name, type or version word."""


class UnknownProperty(LookupError):
    """A chip was asked for a property or description value that no chip file states for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Counts and depths a runtime must respect on this chip.

    All come from the chip's properties (DevProperties) after the overlay of its description file, except
    `max_sqe_per_task` and the last three, which are the counts the manuals state (0: none is stated).
    """

    rtsq_depth: int
    """Slots of the hardware submission ring, or of a queue of commands (HWTS), which rtsqDepth does not describe."""
    reserved_tasks: int
    """Ring slots the runtime keeps for itself."""
    max_tasks_per_stream: int
    """Tasks per stream that are reported to users; not the point where sending stops."""
    max_persistent_tasks: int
    max_tasks: int
    pending_max: int
    """Tasks that may be pending on a stream: three quarters of the ring."""
    max_streams: int
    """Streams that can be allocated, counting those without a hardware queue."""
    max_physical_streams: int
    max_huge_streams: int
    huge_stream_depth: int
    cqe_size: int
    """Bytes of one completion entry."""
    cqe_depth: int
    rtcq_depth: int
    """Depth of the hardware completion ring; 0 where the chip has none of its own."""
    event_count: int
    max_sqe_per_task: int
    """64-byte entries one task may take."""
    streams: int
    events: int
    notifies: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chip:
    """One SoC: its type, SQE generation, properties, features, limits and description values.

    Compared and hashed by identity; `chips.find_chip` returns the same object for the same SoC.
    """

    soc: str
    """SoC name as the driver reports it, e.g. Ascend910B3."""
    family: str
    """Stem of the chip file that describes it, e.g. ascend910b."""
    chip_type: str
    """Name in rtChipType_t, e.g. CHIP_910_B_93."""
    chip_value: int
    """Number in rtChipType_t: bits 15..8 of the version word."""
    generation: str
    """SQE generation: v100, v200, v201, arch5162, or hwts for chips that take the old command blocks."""
    overlay: str
    """Changes on top of the generation: arch9201, or empty."""
    library: str
    """Plug-in library of the vendor's runtime for this chip; empty when none is registered."""
    binaries: str
    """Name that SoCs share whose binaries run on each other; empty where only those of the same short name do."""
    properties: Mapping[str, Any]
    """The 131 properties of DevProperties by name; enumerators as their names, tables as tuples."""
    dynamic_bind: Mapping[str, Any]
    """Properties that change when the driver can bind queues dynamically (FEATURE_TRSDRV_SQ_SUPPORT_DYNAMIC_BIND)."""
    features: frozenset[str]
    """Names of RtOptionalFeatureType without RT_FEATURE_."""
    ini: Mapping[str, Mapping[str, int | str]]
    """Values of the SoC's description file by section; empty when the vendor ships none."""
    limits: Limits
    traits: SchedulerTraits
    """How the generation's task scheduler and driver behave."""

    def has(self, feature: str) -> bool:
        """Return whether the chip has a feature, e.g. `has("TASK_RECYCLE_THREAD")`."""
        return feature in self.features

    def prop(self, name: str) -> Any:
        """Return a property by its DevProperties name; UnknownProperty names close spellings."""
        try:
            return self.properties[name]
        except KeyError:
            near = close_names(name, self.properties, 3)
            hint = f"; close names: {', '.join(near)}" if near else ""
            raise UnknownProperty(f"{self.soc} has no property {name!r}{hint}") from None

    def spec(self, section: str, key: str) -> int | str:
        """Return a value of the SoC's description file, e.g. `spec("SoCInfo", "ai_core_cnt")`."""
        try:
            return self.ini[section][key]
        except KeyError:
            raise UnknownProperty(f"the description of {self.soc} has no {section}.{key}") from None

    @property
    def padding_size(self) -> int:
        """Bytes that padded allocations add (AICoreSpec.padding_size; 32 when the description has no number)."""
        value = self.ini.get("AICoreSpec", {}).get("padding_size", DEFAULT_PADDING)
        return value if isinstance(value, int) else DEFAULT_PADDING

    @property
    def is_stars(self) -> bool:
        """Whether tasks are 64-byte STARS SQEs, not the old command blocks."""
        return bool(self.properties["engineType"] == "STARS")

    def __repr__(self) -> str:
        return f"<Chip {self.soc} ({self.chip_type}, {self.generation}{'+' if self.overlay else ''}{self.overlay})>"
