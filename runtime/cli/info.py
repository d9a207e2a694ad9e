"""``npuhal info``: what is behind the backend, device by device; or what is known about a chip, or tells two apart."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import chips
from npuhal.records import asdict
from runtime.cli import UsageError

if TYPE_CHECKING:
    from npuhal import HalApi
    from runtime.cli.output import Output
    from runtime.driver.memory import Pages

HELP = (
    "Without options: driver and API version, chip and its limits, and for each device state, cores and load, and as "
    "used/capacity the memory, streams, events, notifies and models of all processes. With --chip: what is known about "
    "a chip without having one; with --diff too: what differs between two chips. What a program does is counted in the "
    "program: `npuhal run --counters SCRIPT`, or NPUHAL_COUNTERS=1."
)
EXAMPLES = (
    ("npuhal info --url fake://ascend910b3", "a machine, its limits and what is in use"),
    ("npuhal info --chips", "names of all SoCs that are known"),
    ("npuhal info --chip 910b3 --diff 950", "what differs between two chips"),
    ("npuhal info --json", "for scripts"),
)

_IDS = {"streams": "STREAM", "events": "EVENT", "notifies": "NOTIFY", "models": "MODEL"}
_IDENTITY_COLUMNS = ("device", "user_id", "physical_id", "bus", "state", "soc", "cube_cores", "vector_cores",
                     "aicpu_cores")  # fmt: skip
_USE_COLUMNS = ("device", "cube_load_percent", "memory_mib", "memory_giant_mib", *_IDS)
_HEADS = {
    "cube_load_percent": "AI core load %", "memory_mib": "memory (MiB)", "memory_giant_mib": "as 1 GiB pages (MiB)",
}  # fmt: skip
"""Column heads, where they are not the names of the JSON fields."""
_LIMITS = {
    "tasks_pending_per_stream": "pending_max", "ring_depth": "rtsq_depth", "entries_per_task": "max_sqe_per_task",
    "streams_with_a_queue": "max_physical_streams",
}  # fmt: skip
_STATES = ("starting", "working", "exception", "sleeping", "link lost")
_IDENTITY = ("soc", "family", "chip_type", "chip_value", "generation", "overlay", "library", "padding_size")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--url", help="backend to look behind, such as fake://ascend910b3 (default: $NPUHAL_URL or hal://)"
    )
    parser.add_argument("--chip", metavar="SOC", help="describe a chip, such as Ascend910B3; no device is needed")
    parser.add_argument("--diff", metavar="SOC", help="with --chip: show what differs on another chip")
    parser.add_argument("--chips", action="store_true", help="list the names of all SoCs that are known")
    parser.add_argument("--json", action="store_true", help="write JSON")


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the machine, a chip or a difference."""
    if args.diff and not args.chip:
        raise UsageError("--diff needs a chip to compare with", "give both: --chip Ascend910B3 --diff Ascend950PR")
    if args.chips:
        _list(args.json, out)
    elif args.diff:
        _difference(chips.diff(chips.find_chip(args.chip), chips.find_chip(args.diff)), args.json, out)
    elif args.chip:
        _chip(chips.find_chip(args.chip), args.json, out)
    else:
        _machine(args.url, args.json, out)
    return 0


def _list(as_json: bool, out: Output) -> None:
    found = [chips.find_chip(soc) for soc in chips.all_socs()]
    if as_json:
        out.json({chip.soc: {"family": chip.family, "generation": chip.generation} for chip in found})
        return
    families: dict[str, list[chips.Chip]] = {}
    for chip in found:
        families.setdefault(chip.family, []).append(chip)
    rows = [(family, each[0].generation, " ".join(chip.soc for chip in each)) for family, each in families.items()]
    out.table(("family", "generation", "SoCs"), rows)


def _chip(chip: chips.Chip, as_json: bool, out: Output) -> None:
    identity = {name: getattr(chip, name) for name in _IDENTITY}
    limits = asdict(chip.limits)
    if as_json:
        features = sorted(chip.features)
        properties, description = dict(chip.properties), {name: dict(values) for name, values in chip.ini.items()}
        out.json(
            {**identity, "limits": limits, "features": features, "properties": properties, "description": description}
        )
        return
    out.table((chip.soc, ""), [row for row in identity.items() if row[0] != "soc" and row[1] != ""])
    out.line()
    out.table(("limit", "value"), limits.items())
    out.line()
    described = [(f"{section}.{key}", value) for section, values in chip.ini.items() for key, value in values.items()]
    out.table(("property", "value"), [*sorted(chip.properties.items()), *described])
    out.line()
    out.prose(f"features: {', '.join(sorted(chip.features)) or 'none'}")


def _difference(found: chips.ChipDiff, as_json: bool, out: Output) -> None:
    if as_json:
        out.json(asdict(found))
        return
    if not found:
        out.line(f"{found.a} and {found.b} do not differ in anything known")
        return
    changes = (*found.identity, *found.limits, *found.properties, *found.ini)
    out.table(("", found.a, found.b), [(name, _stated(a), _stated(b)) for name, a, b in changes])
    for soc, features in ((found.a, found.features_a), (found.b, found.features_b)):
        if features:
            out.prose(f"features of {soc} only: {', '.join(features)}")


def _stated(value: object) -> str:
    return "(not stated)" if value is None else str(value)


def _machine(url: str | None, as_json: bool, out: Output) -> None:
    import npuhal
    from runtime.core.submission import compiled

    hal = npuhal.open_hal(url)
    try:
        with out.progress(f"asking {hal.url}"):
            told = _read(hal)
    finally:
        hal.close()
    if as_json:
        out.json({**told, "sends": compiled.told()})
        return
    devices, limits = told.pop("devices"), told.pop("limits")
    told.pop("door")  # the former name of the backend, for scripts
    facts = [(name.replace("_", " "), value) for name, value in told.items()]
    facts.append(("sends", compiled.told()))
    facts += [(f"limit: {name.replace('_', ' ')}", value) for name, value in limits.items()]
    out.table(("machine", ""), facts)
    for columns in (_IDENTITY_COLUMNS, _USE_COLUMNS) if devices else ():
        out.line()
        rows = [[shown(device[name]) for name in columns] for device in devices]
        out.table([_HEADS.get(name, name.replace("_", " ")) for name in columns], rows)
    if devices:
        out.line("used/total; memory is that of huge and normal pages together")


def shown(value: Any) -> str:
    """Return a fact of a device as text, use as "used/capacity"."""
    return f"{value['used']}/{value['capacity']}" if isinstance(value, dict) else str(value)


def _read(hal: HalApi) -> dict[str, Any]:
    from npuhal.version import BASE_VERSION, DRIFT_VERSION, decode_version
    from runtime.driver.info import read_machine
    from runtime.driver.visible import VARIABLE, read_mask

    machine = read_machine(hal)
    visible = read_mask(os.environ.get(VARIABLE), machine.device_count)
    chip = machine.known_chip
    return {
        "backend": hal.url, "door": hal.url,
        "library": getattr(hal, "path", "built in"),
        "driver_api": decode_version(machine.api_version),
        "known_api": f"{decode_version(BASE_VERSION)} to {decode_version(DRIFT_VERSION)}",
        "chip": f"{chip.soc} ({chip.chip_type}, {chip.generation})" if chip else "none",
        "version_word": f"{machine.version_word:#x}",
        "task_schedulers": machine.ts_count,
        "runs_on": "host" if machine.on_host else "device",
        "device_count": machine.device_count,
        "visible_devices": ", ".join(map(str, visible.ids)) if visible.usable else f"none: {visible.state.value}",
        "limits": {name: getattr(chip.limits, field) for name, field in _LIMITS.items()} if chip else {},
        "devices": [device_facts(hal, driver_id, visible.ids) for driver_id in range(machine.device_count)],
    }


def device_facts(hal: HalApi, device_id: int, visible: tuple[int, ...]) -> dict[str, Any]:
    """Return what the driver says of a device, use as {"used", "capacity"}; what it does not say is "unknown (...)".

    Args:
        device_id: the driver's number.
        visible: the driver's numbers of those that this process may use.
    """
    from runtime.driver.info import DeviceInfo
    from runtime.driver.memory import MemoryDriver
    from runtime.driver.resources import SQ, IdDriver
    from runtime.errors import RuntimeFault

    info = DeviceInfo(hal, device_id)
    user_id = visible.index(device_id) if device_id in visible else "hidden by the visible-device mask"
    told: dict[str, Any] = {"device": device_id, "user_id": user_id}
    questions: list[tuple[str, Callable[[], object]]] = [
        ("physical_id", info.physical_id),
        ("bus", info.pci_address),
        ("state", lambda: _STATES[info.status()]),
        ("soc", info.soc_version),
        ("cube_cores", partial(info.get, "MODULE_TYPE_AICORE", "INFO_TYPE_CORE_NUM")),
        ("vector_cores", partial(info.get, "MODULE_TYPE_VECTOR_CORE", "INFO_TYPE_CORE_NUM")),
        ("aicpu_cores", partial(info.get, "MODULE_TYPE_AICPU", "INFO_TYPE_CORE_NUM")),
        ("cube_load_percent", partial(info.get, "MODULE_TYPE_AICORE", "INFO_TYPE_UTILIZATION")),
        ("memory_mib", lambda: _memory(*MemoryDriver(hal, device_id).space())),
        ("memory_giant_mib", lambda: _giant(MemoryDriver(hal, device_id).pages())),
        ("memory_huge_mib", lambda: _huge(MemoryDriver(hal, device_id).pages())),
        ("memory_normal_mib", lambda: _normal(MemoryDriver(hal, device_id).pages())),
        ("queues", lambda: _use(*IdDriver(info).usage(SQ))),
        *((name, lambda kind=kind: _use(*IdDriver(info).usage(kind))) for name, kind in _IDS.items()),
    ]  # fmt: skip
    for name, ask in questions:
        try:
            told[name] = ask()
        except RuntimeFault as problem:  # one answer missing must not hide the others
            told[name] = f"unknown ({problem.hal_name or problem.name})"
    return told


def _memory(free: int, total: int) -> dict[str, int]:
    return {"used": total - free >> 20, "capacity": total >> 20}


def _giant(pages: Pages) -> dict[str, int]:
    return _memory(pages.giant_free, pages.giant_total)


def _huge(pages: Pages) -> dict[str, int]:
    return _memory(pages.huge_free, pages.huge_total)


def _normal(pages: Pages) -> dict[str, int]:
    return _memory(pages.free, pages.total)


def _use(capacity: int, used: int) -> dict[str, int]:
    return {"used": used, "capacity": capacity}
