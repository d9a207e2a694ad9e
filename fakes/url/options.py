"""The options of a fake's URL: fake://SOC?devices=2&seed=7&policy=random."""

from __future__ import annotations

import re
from collections.abc import Mapping

from chips.chip import Chip
from fakes.checkers.report import CHECKS, DEADLOCK, LEAK, RACE
from fakes.machine.ids import ID_KINDS
from fakes.schedule.scheduler import POLICIES
from npuhal.errors import BadUrl
from npuhal.loader import HalUrl
from npuhal.records import dataclass, field
from npuhal.words import natural, shown

MAX_DEVICES = 64
"""Cards of one machine: the driver's address plan has 64 slices."""
NODES = ("open", "missing", "closed", "bare")
TOPOLOGIES = ("mixed", "hccs", "switch", "pcie")
CROSSING = (RACE, DEADLOCK)
"""Checkers that would have to see what other processes do."""
ARGUMENT_PATHS = ("dma", "bar", "ub")
_SIZE = r"(\d+)([kmgt]?)(?:i?b)?\Z"
_PLAN = r"(\d+:\d+:\d+(,\d+:\d+:\d+)*)?"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
_PHYSICAL_IDS = 1 << 31
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
NAMES = ("devices", "seed", "policy", "schedule", "args", "free_run", "hbm", "kernels", "transient", "physical",
          "fault", "scenario", "features", "callback_groups", "op_interval", "ts_capability", "ts_version", "compiled",
          "check", "plan", "shared",
          "swsq", "topology", "nodes")  # fmt: skip


@dataclass(frozen=True, slots=True)
class FakeOptions:
    """What a fake machine is like. Sizes in bytes."""

    devices: int = 1
    seed: int = 0
    policy: str = "round_robin"
    """Who runs next and how far: one of fakes.schedule.scheduler.POLICIES (`schedule` is another name for it)."""
    args: str = "dma"
    """How kernel arguments reach the device: "dma" (PCIe DMA descriptors), "bar" (PCIe BAR), "ub" (UB link)."""
    free_run: bool = False
    """The cards work in a thread of their own, not only at host calls."""
    hbm: int = 0
    """Device memory per card; 0: as the chip's description says."""
    noop_kernels: bool = False
    """`kernels=noop`: kernels nobody attached a function to do nothing, instead of failing."""
    transient: int = 0
    """One of so many head and tail reads answers 0xFFFF, as a failed register read does; 0: none."""
    physical: tuple[int, ...] = ()
    """`physical=3,4`: the cards' physical ids; empty: drawn from the seed, never equal to the logic ids."""
    fault: str = ""
    """Fault rules in short form, see `fakes.url.rules`."""
    scenario: str = ""
    """A machine or fault rules in YAML: a shipped name or a file, see `fakes.url.scenario`."""
    ts_capability: bytes = b"\xff" * 7
    """`ts_capability=00000000000000`: what the task scheduler says it can do, bit by bit; `none`: it says nothing."""
    ts_version: int = 0
    """Firmware version of the task scheduler; 0: drawn from the seed."""
    op_interval_ns: int = 1 << 32
    """`op_interval=1000000`: the step in which the task scheduler counts how long operators run, in nanoseconds."""
    callback_groups: int = 1024
    """Groups of threads that may take host callbacks."""
    plan: str | None = None
    """`plan=0:12:1`: decisions unlike the policy's (`fakes.schedule.plans`); given, even empty: noted."""
    check: frozenset[str] = frozenset()
    """`check=race,uaf`: names of `fakes.checkers.CHECKS`, or `all`."""
    asks_for_leaks: bool = False
    """Whether `check=` names `leak` itself, beside `all` or not: then what the runtime takes back is reported, too."""
    shared: str = ""
    """`shared=NAME`: processes that give the same name see one machine; its cards run freely."""
    features: int | None = None
    """`features=0x954`: what halSupportFeature says yes to, by bit; None: what a present driver has."""
    nodes: str = "open"
    """What the driver's library finds in /dev: "open"; "missing" or "closed": it does not get to the kernel; "bare":
    the driver of a host without cards (with `devices=0`, which alone is a container without cards)."""
    topology: str = "mixed"
    """How cards are joined without UB: "mixed" (SIO in pairs, HCCS in fours), "hccs" (each with each), "switch" (SIO
    in pairs, else HCCS through a switch), or "pcie": none reaches another one's memory."""
    software_sq: bool = True
    """`swsq=0`: the driver cannot bind queues to memory of streams, so that graphs keep queues of their own."""
    compiled: bool = False
    """null:// only: the calls of a launch are compiled C, so that crossing ctypes is part of their cost."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """Number of ids per kind where other than the chip's: `streams=8`, `events=100`, `sqs=4` ..."""

    def scheduler_has(self, bit: int) -> bool:
        """Whether the task scheduler says that it has a capability (TS_FEATURE_*)."""
        return bit // 8 < len(self.ts_capability) and bool(self.ts_capability[bit // 8] >> bit % 8 & 1)

    def alike(self, chip: Chip) -> str:
        """Return in words what all processes that share a machine must agree on."""
        limits = "".join(f"&{kind}s={count}" for kind, count in sorted(self.limits.items()))
        physical = f"&physical={','.join(map(str, self.physical))}" if self.physical else ""
        return (
            f"{chip.soc}?devices={self.devices}&seed={self.seed}&hbm={self.hbm}&args={self.args}"
            f"&topology={self.topology}&scenario={self.scenario}{physical}{limits}"
        )


def parse(url: HalUrl) -> FakeOptions:
    """Return the options of a URL; BadUrl names a wrong option and the valid ones, or what its value must be."""
    counts = {f"{kind}s": kind for kind in ID_KINDS}
    url.allow((*NAMES, *counts))
    if "policy" in url.options and "schedule" in url.options:
        raise BadUrl(f"HAL URL {url.text!r}: policy and schedule are the same option; give one")
    policy = "schedule" if "schedule" in url.options else "policy"
    return FakeOptions(
        devices=url.integer("devices", 1, 0, MAX_DEVICES),
        seed=url.integer("seed", 0),
        policy=url.choice(policy, "round_robin", POLICIES),
        args=url.choice("args", "dma", ARGUMENT_PATHS),
        free_run=url.flag("free_run", default="shared" in url.options),
        shared=_shared(url),
        hbm=_size(url, "hbm"),
        noop_kernels=url.choice("kernels", "attached", ("attached", "noop")) == "noop",
        transient=url.integer("transient", 0, 0, 1 << 20),
        physical=_physical(url),
        fault=url.options.get("fault", ""),
        scenario=url.options.get("scenario", ""),
        check=_checks(url),
        asks_for_leaks=LEAK in url.options.get("check", "").split(","),
        plan=_plan(url),
        features=_mask(url, "features"),
        ts_capability=_capability(url),
        ts_version=url.integer("ts_version", 0, 0, 0xFFFF),
        op_interval_ns=url.integer("op_interval", 1 << 32, 1, (1 << 64) - 1),
        callback_groups=url.integer("callback_groups", 1024, 1, 1024),
        nodes=_nodes(url),
        topology=url.choice("topology", "mixed", TOPOLOGIES),
        software_sq=url.flag("swsq", default=True),
        compiled=url.flag("compiled"),
        limits={kind: url.integer(name, 0, 0, 1 << 20) for name, kind in counts.items() if name in url.options},
    )


def _nodes(url: HalUrl) -> str:
    nodes = url.choice("nodes", "open", NODES)
    if nodes == "bare" and url.integer("devices", 1):
        raise BadUrl(f"HAL URL {url.text!r}: nodes=bare is a host without cards; give devices=0 with it")
    return nodes


def _shared(url: HalUrl) -> str:
    name = url.options.get("shared", "")
    if "shared" in url.options and re.fullmatch(_NAME, name) is None:
        raise BadUrl(
            f"HAL URL {url.text!r}: shared={name!r} must be up to 64 letters, digits, '-', '_' or '.', "
            "a letter or digit first"
        )
    return name


def _physical(url: HalUrl) -> tuple[int, ...]:
    text = url.options.get("physical", "")
    words = text.split(",") if text else []
    ids = [number for word in words if (number := natural(word)) is not None]
    if len(set(ids)) != len(words) or max(ids, default=0) >= _PHYSICAL_IDS:
        raise BadUrl(
            f"HAL URL {url.text!r}: physical={text!r} is not a list of different ids such as 3,4,5, each below "
            f"{_PHYSICAL_IDS}"
        )
    if words and len(words) != url.integer("devices", 1):
        raise BadUrl(f"HAL URL {url.text!r}: physical has {len(words)} ids; give one for each device")
    return tuple(ids)


def _plan(url: HalUrl) -> str | None:
    text = url.options.get("plan")
    if text is not None and re.fullmatch(_PLAN, text) is None:
        raise BadUrl(f"HAL URL {url.text!r}: plan={text!r} is not a list of card:decision:value such as 0:12:1,0:30:64")
    return text


def _checks(url: HalUrl) -> frozenset[str]:
    text = url.options.get("check", "")
    named = frozenset(text.split(",") if text else ())
    wanted = named - {"all"} | frozenset(CHECKS if "all" in named else ())
    if "shared" in url.options and wanted & set(CROSSING):
        if "all" not in named or named & set(CROSSING):
            raise BadUrl(
                f"HAL URL {url.text!r}: check={','.join(sorted(wanted & set(CROSSING)))} cannot be had with shared: "
                "what other processes order is not seen here"
            )
        wanted -= set(CROSSING)
    if not wanted <= set(CHECKS):
        wrong = sorted(wanted - set(CHECKS))[0]
        raise BadUrl(f"HAL URL {url.text!r}: check={wrong!r} is none of all, {', '.join(CHECKS)}")
    return wanted


def _capability(url: HalUrl) -> bytes:
    text = url.options.get("ts_capability", "ff" * 7)
    try:
        return b"" if text == "none" else bytes.fromhex(text)
    except ValueError:
        raise BadUrl(f"HAL URL {url.text!r}: ts_capability={text!r} is neither hexadecimal bytes nor none") from None


def _mask(url: HalUrl, name: str) -> int | None:
    text = url.options.get(name, "")
    try:
        return int(text, 0) if text else None
    except ValueError:
        raise BadUrl(f"HAL URL {url.text!r}: {name}={text!r} is not a number such as 0x954") from None


def _size(url: HalUrl, name: str) -> int:
    try:
        return size(url.options.get(name, "0"))
    except ValueError as wrong:
        raise BadUrl(f"HAL URL {url.text!r}: {name}={wrong}") from None


def size(text: str) -> int:
    """Return the bytes that a text such as 512m means; ValueError for other texts."""
    match = re.match(_SIZE, text, re.IGNORECASE)
    number = natural(match[1]) if match else None
    if match is None or number is None:
        raise ValueError(f"{shown(text)} is not a size such as 512m or 64g")
    return number << _UNITS[match[2].lower()]
