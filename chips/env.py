"""What a builder needs to know besides the task: facts of the device and of the stream, and the task's numbers.

Nothing here is a constant of a chip: every value is read from the driver or from the stream when it is created.  The
runtime builds one ``EncodeEnv`` per stream and replaces it when a fact changes (``dataclasses.replace``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuhal.records import dataclass
from npuhal.tuples import NamedTuple

if TYPE_CHECKING:
    from chips.chip import Chip


CAPABILITIES = {
    "OVER_FLOW_DEBUG": 18, "D2D_ADDR_ASYNC": 19, "FLIPTASK": 20, "FFTSPLUS_TIMEOUT": 21, "MC2_RTS_SUPPORT_HCCL": 23,
    "MC2_RTS_SUPPORT_HCCL_DC": 25, "TILING_KEY_SINK": 27, "MC2_ENHANCE": 30, "TASK_ABORT": 34, "STREAM_ABORT": 38,
    "AICPU_NOTIMEOUT": 39, "CAPTURE_SQE_UPDATE": 42, "OP_EXEC_TIMEOUT_MS": 44, "SOFTWARE_SQ_ENABLE": 45,
    "AICORE_NEVER_TIMEOUT": 46, "ACLGRAPH_COND_OP": 51,
}  # fmt: skip
"""Bit numbers in the capability bitmap of a task scheduler (TS_FEATURE_*)."""


class TaskIds(NamedTuple):
    """The numbers a task gets with its slot.

    ``task_id`` (16 bits) goes into v100 SQEs beside the stream id, ``task_sn`` (32 bits) into v2 SQEs.  ``position`` is
    the task's first ring position, ``allocation`` the stream's running count of tasks with this one (STARS v2 over UB
    asks for a head update every 64 of them); None means that it equals the task id.
    """

    task_id: int
    task_sn: int = 0
    position: int = 0
    allocation: int | None = None


@dataclass(frozen=True, slots=True)
class CoreQos:
    """QoS of one kind of AI core as configured on the device; replaces what the kernel asks for."""

    qos: int
    part_id: int
    pmg: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeEnv:
    """Facts of one stream and its device at encode time.

    Addresses are device-physical unless they say otherwise; 0 means that the device has no such memory.
    """

    chip: Chip

    # --- stream
    stream_id: int = 0
    sq_id: int = 0
    sq_depth: int = 0
    """Entries of the stream's ring; 0 stands for the chip's default depth."""
    bound: bool = False
    """Bound to a model: tasks are kept, not executed at once."""
    dvpp_group: bool = False
    """Belongs to a DVPP group; its SQEs ask for a completion entry by default."""
    overflow_enabled: bool = False
    """Overflow detection is on for the stream."""
    debug_registered: bool = False
    """A debugger is registered for the stream or its model."""
    separate_recycle: bool = False
    """Sending and recycling run separately; without it v100 marks synchronous tasks in bit 15 of the stream id."""
    persistent: bool = False
    """The stream keeps its tasks for replay (capture and model streams)."""
    normal_model: bool = False
    """The stream is in a model that the task scheduler, not the AICPU, executes."""

    # --- device
    device_id: int = 0
    phy_chip_id: int = 0
    phy_die_id: int = 0
    die_count: int = 1
    online: bool = True
    """Host and device are separate machines (PCIe or UB), as against a runtime on the device's own CPU."""
    ub_connected: bool = False
    flat_addresses: bool = False
    """Devices share one flat physical address space (super-node forms of 910_93)."""
    ssid: int = 0
    """Sub-stream id of the process on the device's SMMU."""
    ts_version: int = 0
    ts_features: frozenset[str] = frozenset()
    """Task-scheduler features by name, e.g. "OP_EXEC_TIMEOUT_MS"; from its capability bitmap or its version."""
    tsd_qos: int = 0
    hcom_cpu: bool = False
    """The device has a communication CPU that takes AICPU kernels in a fusion SQE."""
    host_pid: int = 0
    """Process id used where the device answers to the host's control CPU directly."""
    callback_cq_id: int = 0
    callback_group_id: int = 0
    task_profiling: bool = False
    """Profiling per task is on (arch9201 switches its SQE logs with it)."""
    info_log: bool = False
    """The process logs at info level or below; FFTS+ then asks the scheduler for its own log."""
    aic_qos: CoreQos | None = None
    aiv_qos: CoreQos | None = None

    # --- addresses
    stack_base_16k: int = 0
    stack_base_32k: int = 0
    custom_stack_base: int = 0
    custom_stack_size: int = 0
    stars_base: int = 0
    sq_register_base: int = 0
    """Start of the stream's SQ registers (SQ_REG_BASE of halSqCqQuery, or the mapped RTSQ resource)."""
    rtsq_base: int = 0
    swap_buffer_base: int = 0
    sq_address_table: int = 0
    """Device-memory table of SQ register addresses, one word per SQ id, read by condition blocks."""
    profiling_switch: int = 0
    """Device-memory word that tells condition blocks whether profiling is on."""

    # --- time limits
    op_timeout_us: int | None = None
    """Time limit of an operator set for the process in microseconds; None when none was set."""
    op_timeout_fine: bool = False
    """The scheduler counts operators in steps far below a second (`credit.is_fine`): a limit of 0 then means never."""
    credit_interval_us: float = 0.0
    """Microseconds per credit as answered by the task scheduler; 0.0 before it was asked."""

    @property
    def ring_depth(self) -> int:
        """Entries of the stream's ring."""
        return self.sq_depth or self.chip.limits.rtsq_depth

    def ts_has(self, feature: str) -> bool:
        """Tell whether the task scheduler announced a feature."""
        return feature in self.ts_features
