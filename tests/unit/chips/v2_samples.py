"""Recorded entries of STARS v2: task, what its stream is like, and the bytes (zeros at the end left out)."""

from __future__ import annotations

from typing import Any, NamedTuple

from chips import tasks as t
from chips.chip import Chip
from chips.env import EncodeEnv, TaskIds

SERIAL = 0x89ABCDEF
IDS = TaskIds(0x4567, SERIAL)


class Sample(NamedTuple):
    """One recorded task; ``env`` replaces facts of `environment`."""

    name: str
    task: t.Task
    rows: tuple[str, ...]
    env: dict[str, Any] = {}  # noqa: RUF012  # a NamedTuple default; nobody writes to it


def environment(chip: Chip, **facts: Any) -> EncodeEnv:
    """Return the stream that the samples were recorded on."""
    known = {
        "stream_id": 0x123,
        "tsd_qos": 3,
        "die_count": 2,
        "stack_base_32k": 0x123456789000,
        "custom_stack_base": 0x2222ABCD0000,
    }
    return EncodeEnv(chip=chip, **{**known, **facts})


def expected(sample: Sample) -> bytes:
    """Return the recorded bytes, 64 per row."""
    return b"".join(bytes.fromhex(row).ljust(64, b"\0") for row in sample.rows)


KERNEL: dict[str, Any] = {
    "pc": 0x112233445566,
    "args": 0xA1B2C3D4E500,
    "args_size": 200,
    "block_dim": 25,
    "qos": 2,
    "part_id": 7,
}
MIX = t.MixKernel(
    **KERNEL, pc2=0x3344556677, prefetch=5, prefetch2=6, ratio=2, mix=t.MixKind.MAIN_AIC, min_stack_size=40000
)
AICPU: dict[str, Any] = {"so_name": 0x123400001111, "func_name": 0x567800002222, "args": 0xA1B2C3D4E500}
COPY: dict[str, Any] = {"src": 0xAAAA11112222, "dst": 0xBBBB33334444, "size": 0x123456}
WORDS = tuple((0x1001 + 2 * n) << 32 | (0x1000 + 2 * n) for n in range(13))
WQE = bytes(range(128))

SHARED = (
    Sample(
        "notify wait",
        t.NotifyWait(notify_id=0x1155, timeout_s=600),
        ("07000000efcdab89551100800100ff00000000000000000058020000",),
    ),
    Sample(
        "count notify wait",
        t.CountNotifyWait(notify_id=0x1155, timeout_s=600, value=42, mode=3),
        ("07000000efcdab89551100400300ff002a0000000300000058020000",),
    ),
    Sample("notify record", t.NotifyRecord(notify_id=0x1155), ("06000000efcdab89551100000000fd00",)),
    Sample(
        "write value",
        t.WriteValue(addr=0x1BBBB33334440, size_code=3, data=bytes(range(1, 9))),
        ("08000000efcdab89000000000000fd0040443333bbbb318200000000000000000102030405060708",),
    ),
    Sample(
        "write value by pointer",
        t.WriteValuePointer(pointer=0x1CCCC55556660, report=t.Report.ALWAYS),
        ("08180000efcdab89000000000000fd0060665555cccc0180",),
    ),
    Sample(
        "memory write",
        t.MemWriteValue(addr=0x1BBBB33334440, value=0x1122334455667788),
        ("08000000efcdab89000000000000fd0040443333bbbb318200000000000000008877665544332211",),
    ),
    Sample("nop", t.Nop(), ("03000000efcdab89000000006700fd00",)),
    Sample(
        "forced recycle",
        t.Maintenance(kind=t.MaintenanceKind.STREAM_RECYCLE, flag=True, target_id=0x88),
        ("030a0000efcdab89000000000600fd0067008800",),
    ),
    Sample(
        "stream active",
        t.StreamActive(active_sq_id=1, function=0xF234567890ABCD00, function_bytes=256),
        (
            "14000000efcdab89060000800000fd00db0034f2db103c2b00cdab905b0100005b110000400000006b8020001300000013000000"
            "130000001300000013000000",
        ),
    ),
    Sample(
        "host callback",
        t.HostCallback(function=0x12345678ABCDEF01, data=0x87654321FEDCBA98, event_id=3, block=True),
        (
            "03020000efcdab89000000004800fd000000000000002301030000006745030001efcdab7856000098badcfe2143000000000000"
            "0000000000a02d20",
        ),
    ),
    Sample(
        "UB doorbells",
        t.UbDoorbell(
            jobs=(
                t.UbJob(jetty_id=11, function_id=12, pi=13, die_id=1),
                t.UbJob(jetty_id=21, function_id=22, pi=23),
            ),
            source=1,
        ),
        ("09000000efcdab89050000000000fd000b0000180d0000801500002c1700000001",),
    ),
    Sample(
        "UB work element",
        t.DirectSend(job=t.UbJob(jetty_id=33, function_id=44, die_id=1, wqe=WQE), wqe_size=1),
        ("09000000efcdab89020000000000fd40210000580000008000", WQE[:64].hex(), WQE[64:].hex()),
    ),
    Sample(
        "profiling",
        t.ProfilingEnable(pid=0x55, task_based=1, soc_log=1),
        ("03020000efcdab89000000001b00fd0055" + "00" * 33 + "01000100",),
    ),
    Sample(
        "dump description",
        t.DataDumpLoadInfo(info=0xAABBCCDDEE, length=128, kernel_kind=4),
        ("03020000efcdab89000000004600fd00eeddccbbaa000000800000002301674504",),
    ),
    Sample(
        "float status",
        t.GetFloatStatus(addr=0xABCD12345678, debug=True),
        (
            "14020000efcdab89080000800000fd1087b0e655785634125b1100000000000027b0200027b4000027b8000027bc000027b00002"
            "27b4000227b8000227bc0002",
        ),
    ),
    Sample("bare placeholder", t.BareTask(t.TaskType.FUSION_ISSUE), ("03000000efcdab89000000000000fd00",)),
)
"""Entries that v200 and v201 build alike."""

V200 = (
    Sample(
        "cube kernel",
        t.AicKernel(**KERNEL),
        (
            "00001900efcdab8902000d000000fd05009078563412000038200900000000016655443300000000221100000000040000e5d4c3"
            "b2a1",
        ),
    ),
    Sample(
        "vector kernel, dumped, ten seconds",
        t.AivKernel(**KERNEL, timeout_us=10_000_000, flags=t.KernelFlag.DUMP),
        (
            "01041900efcdab8902000d00010002050090785634120000000000003820120100000000665544330000221100000400"
            "000000000000000000e5d4c3b2a1",
        ),
    ),
    Sample(
        "mixed kernel with a large stack",
        MIX,
        (
            "00001900efcdab8902000d000000fd030000cdab2222000038284931382012026655443377665544221133000000040000e5d4c3"
            "b2a1000000e5d4c3b2a1",
        ),
    ),
    Sample(
        "AICPU kernel",
        t.AicpuKernel(**AICPU, block_dim=4, head_offset=16, flags=t.KernelFlag.DEVICE_FIRST),
        (
            "05000400efcdab89000002310000fd00111100003412000010e5d4c3b2a1ffff22220000785600000000000000000000efcdab89"
            "0000000000300028",
        ),
    ),
    Sample(
        "copy",
        t.MemcpyAsync(**COPY, config=t.CopyConfig(qos=1, part_id=9)),
        ("0b000000efcdab89000000000000fd00000f0000000009301f0001001f00010022221111aaaa000044443333bbbb000056341200",),
    ),
    Sample(
        "fill",
        t.Memset(addr=0xAAAA11112222, value=0xCDCDCDCD, count=4096),
        ("0b000000efcdab89000000000000fd00050f0000000000001f0001001f00010022221111aaaa0000cdcdcdcd0000000000100000",),
    ),
    Sample(
        "prefetch",
        t.Cmo(op_code=6, cmo_type=2, length=4096, src=0xAAAA11112222, qos=4, part_id=5),
        ("0f000000efcdab89000000000000fd00060f480200000520000000000000000022221111aaaa0000000000000000000000100000",),
    ),
    Sample(
        "time limits",
        t.TimeoutSet(wait_s=30, execute_s=0),
        ("05000100efcdab8900000230000008000000000008000000030000001e0000001c" + "00" * 24 + "500014",),
    ),
    Sample(
        "CCU mission",
        t.CcuLaunch(
            part=t.CcuPart(
                mission_id=5,
                die_id=1,
                timeout_s=20,
                start_id=7,
                instruction_count=9,
                key=0xCAFEBABE,
                short=True,
                args=WORDS,
            )
        ),
        (
            "10000000efcdab89550000001400042007000900bebafeca0010000001100000021000000310000004100000051000000610000007"
            "1000000810000009100000",
            "0a1000000b1000000c1000000d1000000e1000000f10000010100000111000001210000013100000141000001510000016100000171"
            "000001810000019100000",
        ),
    ),
    Sample(
        "descriptor fetched by the PCIe engine",
        t.MemcpyAsync(**COPY, kind=t.CopyKind.HOST_TO_DEVICE, dma_queue=0xD1A05000, dma_count=2),
        ("0a000000efcdab89000000000000fd000050a0d10000000002000000010000",),
    ),
    Sample(
        "event with a completion entry",
        t.EventRecord(event_id=0, counted=True, count=1, report=True),
        ("06080000efcdab89000000400600fd0001",),
    ),
    Sample(
        "event nobody waits for",
        t.EventRecord(event_id=0x1FFFF, waited=False, report=True),
        ("03080000efcdab89ffff01000400fd00",),
    ),
    Sample("event wait", t.EventWait(event_id=1), ("07000000efcdab89010000000500ff00",)),
    Sample("event reset", t.EventReset(event_id=1), ("06000000efcdab89010000800800ff00",)),
    Sample(
        "notify of another process",
        t.NotifyRecordIpc(notify_id=511),
        ("08000000efcdab89000000000000fd000000000000002080ff0100000400000001",),
    ),
    Sample(
        "memory wait",
        t.MemWaitValue(
            addr=0x12C0C2000000, value=85, function=0x12C0CC22D000, function_bytes=412, flag_addr=0x12C0CC22D200
        ),
        (
            "03000000efcdab89000000006700fd00",
            "08000000efcdab89000000000000fd0000d222ccc0123080",
            "14000000efcdab89090000800000fd00db000000db10600900d022cc5b0100005b1100007d0000006b8020001300000013000000"
            "130000001300000013000000",
        ),
    ),
    Sample(
        "AICPU and cube in one",
        t.FusionKernel(
            sub_type=6,
            sqe_count=2,
            aicpu=(
                t.FusionAicpu(
                    so_name=0x12C0C2000000,
                    func_name=0x12C0C3000040,
                    args=0x12C0C1A5A000,
                    block_dim=2,
                    kind=2,
                    args_format_offset=119,
                ),
            ),
            aic=t.FusionAic(
                kernel=t.AicKernel(pc=0x12C0C0123400, args=0x12C0C1A5A000, block_dim=8, simt_memory=0), vector=False
            ),
        ),
        (
            "02000200efcdab89003002300000fd20000000c2c012000000a0a5c1c0127700400000c3c012000000000000000000"
            "00efcdab890000000000300028",
            "00000800efcdab89020004000000fd050090785634120000000009000000000100"
            "3412c000000000c01200000000000000a0a5c1c012",
        ),
    ),
)
"""Entries of v200."""
