"""Checks of the device nodes: present, permitted, and mapped into the container together with what belongs to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from npuhal.ioctl import NodeState
from runtime.cli.doctor.findings import Finding, Level
from runtime.cli.doctor.machine import Machine

__all__ = ["check", "device_nodes"]

MANAGERS = ("/dev/davinci_manager", "/dev/davinci_manager_docker")
CHANNEL = "/dev/hisi_hdc"
CHANNEL_CURE = f"map {CHANNEL} into the container, or load the Ascend driver whole; UB cards do without"
_OPEN_CURES = {
    "EPERM": "the container may not use this device: start it with --device {node}",
    "EACCES": "a security module (SELinux, AppArmor) refuses it: see the audit log",
    "ENXIO": "the driver has no card for this node: look at npu-smi info and dmesg",
    "ENODEV": "the driver has no card for this node: look at npu-smi info and dmesg",
    "EBUSY": "another container holds the device for itself: stop it, or map another device",
    "EISDIR": "this is a folder, made by a container that was started before the driver: remove it, reload the driver",
}
"""What helps, by the errno of opening a node."""
_BASES = ("asdrv_pbl", "asdrv_vpbl")
"""Modules of which the library must see one in /proc/modules before it uses the manager's node."""
_MODULES = re.compile(r"^(?:drv_|asdrv_|ascend_)\w*", re.MULTILINE)
_MAPPING = "--device /dev/davinci0 --device /dev/davinci_manager --device /dev/hisi_hdc"


def device_nodes(machine: Machine) -> list[str]:
    """Return the nodes of the devices, /dev/davinciN, by number."""
    found = [name for name in machine.glob("/dev", "davinci*") if re.fullmatch(r"/dev/davinci\d+", name)]
    return sorted(found, key=_number)


def check(machine: Machine) -> Iterator[Finding]:
    """Check /dev: devices, manager, host-device channel, and the rights on them."""
    devices = device_nodes(machine)
    managers = [name for name in MANAGERS if machine.exists(name)]
    container = machine.container()
    if not devices:
        yield _no_devices(machine, managers)
    elif not managers:
        yield Finding(
            Level.PROBLEM,
            "there is no /dev/davinci_manager, through which every driver call goes",
            "looked for " + ", ".join(MANAGERS),
            f"start the container with {_MAPPING}" if container else "load the Ascend driver (see dmesg)",
        )
    if devices and not machine.exists(CHANNEL):
        yield Finding(
            Level.WARNING,
            f"there is no {CHANNEL}, the channel to the device's processes on PCIe cards (UB cards do without)",
            f"{len(devices)} device node(s) are there",
            f"add --device {CHANNEL}" if container else "load the Ascend driver whole (see dmesg)",
        )
    loaded = machine.text("/proc/modules")
    if managers and loaded and not any(re.search(rf"^{name}\b", loaded, re.MULTILINE) for name in _BASES):
        yield Finding(
            Level.WARNING,
            "the driver's library does not find its kernel module and asks nothing of the kernel then",
            f"/proc/modules has none of {', '.join(_BASES)}; {', '.join(managers)} is there",
            "load the Ascend driver whole (see dmesg), or show the host's /proc/modules to the container",
        )
    refused = [name for name in (*devices, *managers, CHANNEL) if machine.exists(name) and not machine.may(name, "rw")]
    if refused:
        group = machine.group_of(refused[0])
        yield Finding(
            Level.PROBLEM,
            "this user may not open the device nodes",
            ", ".join(f"{name} ({machine.ownership(name)})" for name in refused),
            f"run the container with --group-add {group}, or as root"
            if container
            else f"sudo usermod -aG {group} $USER, then log in again",
        )
    shut = [state for state in machine.node_states() if state.exists and state.error and state.path not in refused]
    yield from (_does_not_open(state) for state in shut)
    if devices and managers and not refused and not shut:
        yield Finding(Level.OK, f"{len(devices)} device node(s), all open to this user", ", ".join(devices))
    if devices and container:
        yield from _container(machine, devices, container)


def _does_not_open(state: NodeState) -> Finding:
    return Finding(
        Level.PROBLEM,
        f"{state.path} cannot be opened, although its permissions allow it",
        f"{state.error}; mode {state.mode:o}, owner {state.owner}, group {state.group}",
        _OPEN_CURES.get(state.error, "see dmesg; reload the driver, or restart the machine").format(node=state.path),
    )


def _no_devices(machine: Machine, managers: list[str]) -> Finding:
    modules = _MODULES.findall(machine.text("/proc/modules"))
    evidence = f"no /dev/davinciN; driver modules loaded: {', '.join(modules[:6]) or 'none'}"
    if machine.container():
        cure = f"start the container with {_MAPPING}, one --device per card"
    elif modules or managers:
        cure = "the driver is loaded but found no card: look at npu-smi info and dmesg"
    else:
        cure = "install the Ascend driver package, or load it and look at dmesg"
    return Finding(Level.PROBLEM, "there is no NPU device node", evidence, f"{cure}; or run on the fake")


def _container(machine: Machine, devices: list[str], sign: str) -> Iterator[Finding]:
    if not machine.exists("/usr/local/Ascend/driver") and not machine.exists("/etc/ascend_install.info"):
        yield Finding(
            Level.PROBLEM,
            "devices are mapped into this container, but the driver's folder is not",
            f"{sign}; {', '.join(devices)}; no /usr/local/Ascend/driver",
            "add -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro and "
            "-v /etc/ascend_install.info:/etc/ascend_install.info:ro",
        )
    numbers = [_number(name) for name in devices]
    if numbers != list(range(len(numbers))):
        told = ", ".join(f"davinci{number} is {logic}" for logic, number in enumerate(numbers))
        yield Finding(Level.NOTE, "devices have other numbers in this container than on the host", f"{told} ({sign})")


def _number(node: str) -> int:
    return int(node.removeprefix("/dev/davinci"))
