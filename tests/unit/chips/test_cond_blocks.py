"""Blocks compared with the bytes the vendor's runtime put in device memory beside its condition SQEs."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from typing import Any

import pytest

from chips.catalog import Catalog
from chips.env import EncodeEnv
from chips.programs import CondError, assemble, disassemble, parse
from chips.programs.body import float_status, function_call
from chips.programs.capture import CaptureCondition, ConditionKind, WhileJumpBack
from chips.programs.device import CondDevice
from chips.programs.isa import isa
from chips.programs.label import LabelSwitch
from chips.programs.model import ModelExecute, StartQueues
from chips.programs.program import decode
from chips.programs.rdma import ProducerIndexModify, rdma_count, rdma_doorbell
from chips.programs.stream import Condition, QueueRegisters, StreamActive, StreamSwitch
from chips.programs.wait import BoundQueue, ExternalWait, KnownQueue, MemoryWait, SwapBuffer, WaitFor
from tests.tools.corpus import corpus

# corpus file: SoC, slots of the ring
FILES = {
    "310B": ("Ascend310B1", 4096),
    "910B1": ("Ascend910B1", 4096),
    "910_9391": ("Ascend910_9391", 4096),
    "910_9391_addrflat": ("Ascend910_9391", 4096),
    "910_9391_chip1die1": ("Ascend910_9391", 4096),
    "950": ("Ascend950PR_9589", 2049),
    "950_die1": ("Ascend950PR_9589", 2049),
    "950_ub": ("Ascend950PR_9589", 2049),
    "ascend350": ("Ascend350_354f", 2048),
    "arch9201": ("Arch9201", 2049),
    "mc62cm12a": ("MC62CM12A", 4089),
    "mc32dm11a": ("MC32DM11A", 4089),
}
QUEUES = 0x12C0_C000_0000  # table of queue pages
STARS_BASE = 0x5_2000_0000  # of the stand-in the blocks were recorded with


def device_of(file: str, inputs: dict[str, Any]) -> CondDevice:
    """Facts of the device an entry was recorded on."""
    env = EncodeEnv(
        chip=Catalog().find(FILES[file][0]),
        phy_chip_id=inputs["env_phy_chip_id"],
        phy_die_id=inputs["env_phy_die_id"],
        flat_addresses=bool(inputs["env_addr_mode"]),
        stars_base=STARS_BASE,
    )
    return CondDevice.of(env)


def found(pattern: str, text: str) -> int:
    """Device addresses the entries do not list (counters, tables) stand in the block itself."""
    match = re.search(pattern, text)
    assert match is not None, pattern
    return int(match[1], 0)


def rebuild(file: str, entry: dict[str, Any], block: bytes) -> bytes:
    """Build the block of a corpus entry from its inputs."""
    i = entry["inputs"]
    device, depth = device_of(file, i), FILES[file][1]
    generation = device.generation
    v2 = device.swap is not None
    text = "\n".join(line.text for line in disassemble(block, generation))

    def page(sq_id: int) -> int:
        if not v2:
            return (sq_id * 0x1000 << 32) | 0x5001
        return found(r"lbu\.d +r1, \[(\w+)\]", text) - 0x14  # depends on the stand-in's queue mapping

    def active(sq_id: int) -> StreamActive:
        return StreamActive(
            sq_id=sq_id,
            registers=device.registers(page(sq_id)),
            starts=found(r"lwu\.d +r2, \[(\w+)\]", text),
            dfx=i["fc_mem"] + i["fc_size"],
            sq_mask=device.sq_mask,
        )

    if entry["task"] == "STREAM_ACTIVE":
        return active(i["active_sq_id"]).assemble(generation)
    if entry["task"] == "STREAM_SWITCH":
        return StreamSwitch(
            variable=i["ptr"],
            condition=Condition(i["condition"]),
            target=active(i["true_sq_id"]),
            current_sq=i["sq_id"],
            value=i.get("value", 0),
            value_address=i.get("value_ptr"),
            wide=i.get("data_type", 1) == 1,
        ).assemble(generation)
    if entry["task"] == "STREAM_LABEL_SWITCH_BY_INDEX":
        return LabelSwitch(
            index=i["index_ptr"],
            count=i["max"],
            labels=i["label_info_ptr"],
            label_count=found(r"lwu\.d +r2, \[(\w+)\]", text),
            queues=QUEUES,
            dfx=i["dfx_ptr"],
            current_sq=i["sq_id"],
            tail_offset=device.tail_offset,
        ).assemble(generation)
    if entry["task"] == "MODEL_EXECUTE":
        size = ModelExecute.program(generation).size_bytes
        # chips that split program and diagnostics have the latter elsewhere
        dfx = found(r"li +r5, (\w+)\n +sw ", text)
        return ModelExecute(
            address=i["fc_mem"],
            heads=(i["head_sq_id"], i["head_sq_id"] + 1),
            counters=struct.unpack_from("<2Q", block, size + 16),
            start=device.start_queues(queues=i["sq_virtual_addr_table"], dfx=dfx),
        ).assemble(generation)
    assert entry["task"] == "MEM_WAIT_VALUE"
    tail = 0 if v2 else page(i["sq_id"]) + device.tail_offset
    return MemoryWait(
        address=i["addr"],
        value=i["value"],
        test=WaitFor(i["flag"]),
        size=i["aw_size"],
        position=i["task_id"] % depth if v2 else 0,
        depth=depth,
        profiling=found(r"ld\.d +r3, \[(\w+)\]", text),
        queue=KnownQueue(sq_id=i["sq_id"], paused=i["prof_disable_addr"], tail=tail),
        swap=device.swap,
    ).assemble(generation)


def meaningful(code: bytes, generation: str) -> bytes:
    """Mask of the bits that mean something: in label switches the vendor leaves the reserved ones uninitialised."""
    table = isa(generation)
    mask = bytearray()
    for _, instruction in decode(code, generation):
        opcode = table.opcode(instruction.name)
        mask += (opcode.mask | opcode.operand_bits).to_bytes(4 * opcode.words, "little")
    return bytes(mask)


@pytest.mark.parametrize("file", FILES)
def test_every_recorded_block(file: str) -> None:
    entries = json.loads(corpus(f"golden/sqe_{file}.json").read_text())
    checked = 0
    for entry in entries["entries"] if isinstance(entries, dict) else entries:
        for aux in entry.get("aux", ()):
            if aux["name"] not in ("func_call", "fc_mem2"):
                continue
            block = bytes.fromhex(aux["hex"])
            built = rebuild(file, entry, block)
            if entry["task"] == "STREAM_LABEL_SWITCH_BY_INDEX":
                mask = meaningful(built, device_of(file, entry["inputs"]).generation)
                block = bytes(a & b for a, b in zip(block, mask, strict=True))
            # some v2 waits were recorded up to the size of a v100 block only
            assert built[: len(block)] == block, (entry["task"], entry["variant"])
            call = bytes.fromhex(entry["sqe_hex"][2 if entry["task"] == "MEM_WAIT_VALUE" else 0])[16:]
            tables = 32 if entry["task"] == "MODEL_EXECUTE" else 0  # behind the instructions
            assert call == function_call(aux["addr"], len(built) - tables), (entry["task"], entry["variant"])
            checked += 1
    assert checked >= 30


def start(sq_id: int, dfx: int) -> StreamActive:
    page = (sq_id * 0x1000 << 32) | 0x5001
    registers = QueueRegisters.at(page, state=0x6_A000_4880, tail_offset=8)
    return StreamActive(sq_id=sq_id, registers=registers, starts=0x12C0_C180_6000, dfx=dfx, sq_mask=0x7FF)


RECORDED = {
    "stream active, v100": (
        start(3, 0x12C0_C182_E178),
        "v100",
        "3e090052b5c85017",
    ),
    "stream switch on a constant, v100": (
        StreamSwitch(
            variable=0x12C0_C200_0000,
            condition=Condition.GREATER,
            target=start(3, 0x12C0_C181_E1A8),
            current_sq=2,
            value=0x11_2233_4455,
        ),
        "v100",
        "ece284581378416b",
    ),
    "stream switch on a variable, v100": (
        StreamSwitch(
            variable=0x12C0_C200_0000,
            condition=Condition.GREATER_OR_EQUAL,
            target=start(3, 0x12C0_C182_81A4),
            current_sq=4,
            value_address=0x12C0_C300_0040,
            wide=False,
        ),
        "v100",
        "92488719e8214f07",
    ),
    "model execute, v100": (
        ModelExecute(
            address=0x12C0_C184_4000,
            heads=(6, 7),
            counters=(0x12C0_C183_C000, 0x12C0_C183_D000),
            start=StartQueues(queues=QUEUES, state=0x6_A000_4880, dfx=0x12C0_C184_5000, sq_mask=0x7FF, tail_offset=8),
        ),
        "v100",
        "90c458c7e52cbffb",
    ),
    "model execute, arch9201": (
        ModelExecute(
            address=0x12C0_CBE3_3000,
            heads=(5, 6),
            counters=(0x12C0_CBE2_B000, 0x12C0_CBE2_C000),
            start=StartQueues(queues=QUEUES, state=0, dfx=0x12C0_CBE3_3198, sq_mask=0x7FF, tail_offset=0),
        ),
        "arch9201",
        "7ac657cc42f89834",
    ),
    "memory wait, v100": (
        MemoryWait(
            address=0x12C0_C200_0008,
            value=0x2244_6688_AACC_EF10,
            test=WaitFor.AND,
            size=3,
            position=0,
            depth=4096,
            profiling=0x12C0_C180_0000,
            queue=KnownQueue(sq_id=4, paused=0x12C0_C181_91E0, tail=0x4000_0000_5009),
        ),
        "v100",
        "c27295c5741261a4",
    ),
    "memory wait, v200": (
        MemoryWait(
            address=0x12C0_C200_0000,
            value=85,
            test=WaitFor.EQUAL,
            size=3,
            position=1,
            depth=2049,
            profiling=0x12C0_CC20_0000,
            queue=KnownQueue(sq_id=6, paused=0x12C0_CC22_D240),
            swap=SwapBuffer(base=0, shift=6, offset=32, update=STARS_BASE + 0x2200_2000),
        ),
        "v200",
        "9e0168d6b3ec02f9",
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_blocks_by_digest(name: str) -> None:
    block, generation, digest = RECORDED[name]
    assert hashlib.sha256(block.assemble(generation)).hexdigest()[:16] == digest


def test_recorded_bodies() -> None:
    assert function_call(0x12C0_C183_4000, 176).hex() == (
        "db000000db106009004083c15b0100005b1100002c0000006b8020001300000013000000130000001300000013000000"
    )
    assert float_status(0x12C0_C200_0000).hex() == (
        "87306009000000c25b1100000000000027b0200027b4000027b8000027bc000027b0000227b4000227b8000227bc0002"
    )
    assert rdma_count(0x12C0_C183_C000, 6, 5).hex() == (
        "8750600900c083c193906000938050005b0100005b110000ffff0000b3f0200093900002130000001300000013000000"
    )
    assert rdma_doorbell(0x20_0000_0230, 0x1122_0000_5566_7788).hex() == (
        "db012211db11000088776655b3e111005b0200005b12100030020000db9200000100000073b002002730320073a00200"
    )


START = StartQueues(queues=1, state=2, dfx=3, sq_mask=4, tail_offset=8)


def node(kind: ConditionKind) -> CaptureCondition:
    return CaptureCondition(
        kind=kind,
        variable=1,
        models=1,
        head_lists=2,
        head_counts=3,
        counter_lists=4,
        sq_id_address=5,
        next_head=6,
        start=START,
    )


def wait(queue: KnownQueue | BoundQueue, swap: SwapBuffer | None) -> MemoryWait:
    return MemoryWait(
        address=1, value=2, test=WaitFor.NOR, size=3, position=4, depth=5, profiling=6, queue=queue, swap=swap
    )


SWAP = SwapBuffer(base=0, shift=6, offset=32, update=1)


@pytest.mark.parametrize(
    ("size", "program"),
    [
        (376, StreamActive.program("v100")),
        (280, StreamActive.program("arch9201")),
        (440, LabelSwitch.program()),
        (448, ModelExecute.program("v201")),
        (376, ModelExecute.program("arch9201")),
        (644, node(ConditionKind.IF).program()),
        (624, node(ConditionKind.WHILE).program()),
        (636, node(ConditionKind.SWITCH).program()),
        (64, WhileJumpBack.program()),
        (412, wait(KnownQueue(sq_id=1, paused=2, tail=3), None).program()),
        (500, wait(BoundQueue(sq_id_address=2), None).program()),
        (500, wait(KnownQueue(sq_id=1, paused=2), SWAP).program()),
        (624, wait(BoundQueue(sq_id_address=2), SWAP).program()),
        (176, ExternalWait.program()),
        (176, ProducerIndexModify.program()),
    ],
)
def test_sizes_of_the_c_structs(size: int, program: Any) -> None:
    assert program.size_bytes == size


def test_programs_list_and_assemble_back() -> None:
    for block, generation, _ in RECORDED.values():
        code = block.assemble(generation)
        listing = "\n".join(line.text for line in disassemble(code, generation))
        assert assemble(listing, generation) == code
        assert not parse(listing).parameters


def test_a_missing_stars_base_is_an_error() -> None:
    with pytest.raises(CondError, match="stars_base = 0"):
        CondDevice.of(EncodeEnv(chip=Catalog().find("Ascend350_354f")))


def test_selector_depends_on_chip_and_die() -> None:
    chip = Catalog().find("Ascend910_9391")
    assert CondDevice.of(EncodeEnv(chip=chip)).selector == 0x6_A000_4880
    assert CondDevice.of(EncodeEnv(chip=chip, phy_chip_id=1, phy_die_id=1)).selector == 0x906_A000_4880
    assert CondDevice.of(EncodeEnv(chip=chip, flat_addresses=True)).selector == 0x2006_A000_4880
    assert CondDevice.of(EncodeEnv(chip=Catalog().find("Ascend310B1"), phy_die_id=1)).selector == 0x5_2000_4880
