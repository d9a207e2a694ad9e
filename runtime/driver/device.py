"""Opening and closing a device in the vendor's order (core_spec 2.3; the order is visible to the driver)."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import chips
import npuhal
from npuhal import constants as c
from npuhal import structs as s
from npuhal.daemon import DaemonError
from npuhal.records import dataclass
from runtime import errors
from runtime.driver.calls import HalCalls
from runtime.driver.info import DeviceInfo, MachineFacts, device_count, platform_is_host
from runtime.driver.memory import MemoryDriver
from runtime.driver.patience import patiently
from runtime.driver.resource_table import ResourceTable

_OP_QUERY_STARS_REG_BASE_ADDR = 5
_OP_QUERY_TSFW_VERSION = 6
_OP_QUERY_OP_EXEC_TIMEOUT_INTERVAL = 11
_OP_QUERY_SWAP_BUFFER_INFO = 16
_CTRL_BODY_BYTES = 44
"""Body of a TSDRV_CTL_CMD_CTRL_MSG: a u32 operation, then a 40-byte union."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFacts:
    """What one device answered while it was opened; nothing of it is assumed anywhere else."""

    device_id: int
    chip: chips.Chip
    on_host: bool
    environment: int
    run_machine: int
    flat_address: bool
    connect_type: int
    ssid: int
    stars_base: int
    die_count: int
    sdma_reduce_kinds: int
    phy_chip_id: int
    phy_die_id: int
    start_ticks: int
    tsd_qos: int
    bar_arguments: bool

    @property
    def ub_connected(self) -> bool:
        """Whether host and device are joined by UB rather than PCIe (HD_CONNECT_TYPE 2)."""
        return self.connect_type == _CONNECT_UB


_CONNECT_UB = 2

_PROBED_FEATURES = (
    "FEATURE_SVM_GET_USER_MALLOC_ATTR", "FEATURE_SVM_MEM_REGISTER_QUERY_AND_GET_ATTR",
    "FEATURE_SVM_MEM_REGISTER_HOST_PINNED",
)


Phase = Callable[[str], AbstractContextManager[object]]


class DeviceDriver:
    """The opened device: facts, and the daemon that was started for it."""

    def __init__(self, hal: npuhal.HalApi, machine: MachineFacts, device_id: int,
                 resource_table: ResourceTable | None = None) -> None:
        self.hal, self.machine, self.device_id = hal, machine, device_id
        self.info = DeviceInfo(hal, device_id)
        self.resource_table = resource_table or ResourceTable()
        self.memory = MemoryDriver(hal, device_id, self.resource_table)
        self._daemon = hal.daemon()
        self._opened = self._daemon_opened = self._left = False
        self.open_retries = 0
        """How often a busy driver was asked again."""
        self._seen: dict[str, Any] = {}

    def open(self, phase: Phase = lambda _name: nullcontext()) -> None:
        """Start the device daemon and open the device.

        Args:
            phase: returns a context manager that measures a step of the given name.

        Raises RuntimeFault; a device that this process has already opened through another runtime is refused by
        name, and whatever was started is stopped again.
        """
        try:
            self._open(phase)
        except BaseException:
            self.close()
            raise

    def _open(self, phase: Phase) -> None:
        info, seen = self.info, self._seen
        seen["on_host"] = platform_is_host(self.hal)
        seen["environment"] = info.get("MODULE_TYPE_SYSTEM", "INFO_TYPE_ENV")
        self._check_range()
        seen["run_machine"] = info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_RUN_MACH", 0)
        seen["flat_address"] = info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_ADDR_MODE", 0) != 0
        self._check_range()
        with phase("device helper process"):
            self._open_daemon()
        with phase("driver"):
            self._open_device()
        seen["ssid"] = self._ssid()
        for feature in _PROBED_FEATURES:
            info.supports(feature)
        info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_ADDR_MODE", 0)
        seen.update(stars_base=0, die_count=1, connect_type=0)
        if self.machine.chip.traits.asks_connection:
            seen["stars_base"] = self.control_message(_OP_QUERY_STARS_REG_BASE_ADDR, "<Q")
            seen["die_count"] = info.get_or("MODULE_TYPE_AICORE", "INFO_TYPE_DIE_NUM", 1)
            seen["connect_type"] = info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_HD_CONNECT_TYPE", 0)
        self.memory.feature_mask(c.CTRL_SUPPORT_NUMA_TS_MASK)
        seen["sdma_reduce_kinds"] = info.sdma_reduce_kinds()

    def identify(self) -> DeviceFacts:
        """Read the rest, which the vendor asks for after the SQ register table is allocated; return all facts."""
        info = self.info
        return DeviceFacts(
            **self._seen, device_id=self.device_id, chip=self.machine.chip,
            phy_chip_id=info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_PHY_CHIP_ID", 0),
            phy_die_id=info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_PHY_DIE_ID", 0),
            start_ticks=info.get_or("MODULE_TYPE_SYSTEM", "INFO_TYPE_REAL_TIME", 0),
            tsd_qos=self._qos(),
            bar_arguments=self.memory.bar_argument_memory(),
        )

    def _qos(self) -> int:
        """Return the QoS that AICPU and DMA tasks carry; 0 without a daemon."""
        if self._daemon is None:
            return 0
        try:
            return self._daemon.capability_qos(self.device_id)
        except DaemonError as error:
            raise errors.fault(
                "RT_ERROR_DEVICE_RETAIN", f"the device helper process does not say which QoS tasks have: {error}",
                layer="driver", hint="check it with `npu-smi info` and the daemon's log",
            ) from error

    def _check_range(self) -> None:
        count = device_count(self.hal)
        if self.device_id >= count:
            raise errors.fault(
                "ACL_ERROR_RT_INVALID_DEVICEID", f"device {self.device_id} does not exist: the driver shows {count}",
                hint="devices are numbered from 0; `npuhal info` lists them",
            )

    def _open_daemon(self) -> None:
        if self._daemon is None:
            return
        # 910B starts its processes in a device mode, 950 does not know modes.
        mode = 0 if self.machine.chip.has("DEVICE_TS_DEAMON_OPEN_EX") else None
        try:
            self._daemon.open(self.device_id, 0, mode)
        except DaemonError as error:
            raise errors.fault(
                "RT_ERROR_DEVICE_RETAIN", f"the device helper process did not start: {error}", layer="driver",
                hint="start fewer processes at once if many use the device; check it with `npu-smi info` and the "
                "daemon's log",
            ) from error
        self._daemon_opened = True

    def _asked_again(self) -> None:
        self.open_retries += 1

    def _ask_open(self) -> int:
        return int(self.hal.halDeviceOpen(
            self.device_id, ctypes.byref(s.hal_dev_open_in()), ctypes.byref(s.hal_dev_open_out())
        ))

    def _open_device(self) -> None:
        rc = patiently(self._ask_open, "halDeviceOpen", device_id=self.device_id, stepped=self.hal.stepped,
                       told=self._asked_again)
        if rc == c.DRV_ERROR_REPEATED_INIT:
            raise errors.fault(
                "RT_ERROR_DEVICE_RETAIN",
                f"device {self.device_id} is already open in this process: another runtime lives here",
                hint="one process, one runtime: do not import pyACL, torch_npu or libascendcl beside npuhal",
            )
        if rc and self._daemon is None:
            raise self.info.fault(
                rc, "halDeviceOpen", "libtsdclient.so was not found, so no device process was started; install the "
                "CANN runtime package or set LD_LIBRARY_PATH to it",
            )
        self.info.check(rc, "halDeviceOpen", f"device {self.device_id}")
        self._opened = True

    @property
    def opened(self) -> bool:
        """Whether the driver has the device open for this process."""
        return self._opened

    def reopen(self) -> None:
        """Let go of the card and open the one that is there now; memory stays mapped, ids and queues are gone.

        Raises:
            NotSupported 207000: this driver cannot exchange cards.
        """
        if self._opened:  # not so, where an attempt before this one has failed half-way
            leaving = s.halDevCloseIn()
            leaving.close_type = c.DEV_CLOSE_HOST_USER
            HalCalls(self.hal, self.device_id).call("halDeviceClose", ctypes.byref(leaving))
            self._opened, self._left = False, True
        self._close_daemon()
        self._come_back()

    def _come_back(self) -> None:
        """Open the device that was let go of."""
        if not self._daemon_opened:
            self._open_daemon()
        self._open_device()
        self._left = False

    def _close_daemon(self) -> None:
        if self._daemon_opened:
            assert self._daemon is not None
            self._daemon_opened = False
            try:
                self._daemon.close(self.device_id)
            except DaemonError as error:
                raise errors.fault(
                    "ACL_ERROR_RT_DRV_INTERNAL_ERROR", f"the device helper process did not stop: {error}",
                    layer="driver", hint="look at the daemon's log",
                ) from error

    def _ssid(self) -> int:
        value = ctypes.c_uint32(0)
        self.info.check(self.hal.drvMemSmmuQuery(self.device_id, ctypes.byref(value)), "drvMemSmmuQuery")
        return value.value

    def control_message(self, operation: int, reply: str, request: bytes = b"") -> int:
        """Ask the task scheduler (halTsdrvCtl CTRL_MSG) and return the first value of its answer."""
        body = ctypes.create_string_buffer(struct.pack("<I", operation) + request, _CTRL_BODY_BYTES)
        answer, size = ctypes.create_string_buffer(_CTRL_BODY_BYTES), ctypes.c_size_t(_CTRL_BODY_BYTES)
        message = s.tsdrv_ctrl_msg()
        message.tsid, message.msg_len, message.msg = 0, _CTRL_BODY_BYTES, ctypes.addressof(body)
        rc = self.hal.halTsdrvCtl(
            self.device_id, c.TSDRV_CTL_CMD_CTRL_MSG, ctypes.addressof(message), ctypes.sizeof(message),
            ctypes.addressof(answer), ctypes.byref(size),
        )
        self.info.check(rc, "halTsdrvCtl", f"control message {operation}")
        return int(struct.unpack_from(reply, answer, 4)[0])

    def scheduler_version(self) -> int:
        """Return the firmware version that the scheduler states by control message (STARS v2)."""
        return self.control_message(_OP_QUERY_TSFW_VERSION, "<I")

    def operator_interval_ns(self) -> int:
        """Return the time of one step in which the hardware counts how long operators run, in nanoseconds."""
        words = self.control_message(_OP_QUERY_OP_EXEC_TIMEOUT_INTERVAL, "<Q")  # the high word comes first
        return words >> 32 | (words & 0xFFFFFFFF) << 32

    def core_counts(self) -> tuple[int, int]:
        """Return (cube cores, vector cores)."""
        return (self.info.get("MODULE_TYPE_AICORE", "INFO_TYPE_CORE_NUM"),
                self.info.get_if_known("MODULE_TYPE_VECTOR_CORE", "INFO_TYPE_CORE_NUM", 0))

    def close(self) -> None:
        """Close the device and stop its daemon; what was never opened is left alone.

        A device that the driver does not close stays `opened`, for another attempt.
        """
        if self._left:  # its memory is still mapped, and goes with a device that is open
            with suppress(errors.RuntimeFault):
                self._come_back()
        if self._opened:
            self.resource_table.ask_again()
        self.resource_table.virtual.forget(self.device_id)
        try:
            if self._opened:
                HalCalls(self.hal, self.device_id).call("halDeviceClose", None)
                self._opened = False
        finally:
            self._close_daemon()
