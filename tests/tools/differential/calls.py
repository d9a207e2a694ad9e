"""Calls of any function of the C API with arguments by the types and names of its parameters, right and wrong."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any

from runtime.capi.aclrt.entry import find
from runtime.capi.shim import declarations as c
from tests.tools.differential.named import LEFT_OUT
from tests.tools.differential.programs import Argument, Step
from tests.tools.elf_writer import ElfWriter, u32

_LEFT_OUT = ("aclAppLog", "aclFinalize", "aclFinalizeReference", "aclInit", "aclrtProcessReport", "aclGetRecentErrMsg",
             "aclrtSetDeviceSatMode", "aclrtSetExceptionInfoCallback", "aclrtSnapShotProcessLock",
             "aclrtSnapShotProcessBackup", "aclrtSnapShotProcessRestore", "aclrtSetOpExecuteTimeOutWithMs")  # fmt: skip
"""Functions that end the process's use of the library, wait for others, or answer with addresses of text."""
_WITHOUT_VALUE = {
    "aclrtGetMemInfo": ("free", "total"), "aclrtStreamGetId": ("streamId",), "aclrtGetEventId": ("eventId",),
    "aclrtGetNotifyId": ("notifyId",), "aclrtEventGetTimestamp": ("timestamp",), "aclrtEventElapsedTime": ("ms",),
    "aclrtGetStreamAvailableNum": ("streamCount",), "aclrtGetEventAvailNum": ("eventCount",),
    "aclrtCntNotifyGetId": ("notifyId",), "aclrtGetThreadLastTaskId": ("taskId",), "aclrtMemExportToShareableHandle":
    ("shareableHandle",), "aclrtDeviceGetBareTgid": ("pid",), "aclrtGetHardwareSyncAddr": ("addr",),
    "aclmdlRITaskGetSeqId": ("id",), "aclrtGetHostAicpuFd": ("fd",), "aclrtEventElapsedTimeV2": ("ms",),
    "aclmdlRIGetId": ("modelRIId",), "aclrtGetDevicesTopo": ("value",), "aclrtQueryDeviceStatus": ("deviceStatus",),
    "aclrtGetDeviceInfo": ("value",), "aclrtGetUtilizationRate": ("utilizationInfo",),
}  # fmt: skip
"""Outputs that are numbers of the library's own: ids, times, amounts."""
_KINDS = {
    "aclrtStream": "stream", "rtStream_t": "stream", "aclrtEvent": "event", "rtEvent_t": "event",
    "aclrtContext": "context", "aclrtNotify": "notify", "aclrtCntNotify": "count", "aclrtLabel": "label",
    "aclrtLabelList": "labels", "aclrtBinHandle": "binary", "aclrtFuncHandle": "function", "aclmdlRI": "model",
    "rtModel_t": "model", "aclrtMemPool": "pool", "aclrtTaskGrp": "group", "aclmdlRITask": "task",
    "aclrtDrvMemHandle": "physical", "aclrtMbuf": "buffer", "acltdtBuf": "buffer", "aclrtBinary": "image",
    "aclrtArgsHandle": "list", "aclrtParamHandle": "parameter", "aclmdlRICondHandle": "condition",
    "aclrtAllocatorDesc": "allocator",
}  # fmt: skip
"""What kinds of things the types of handles are."""
_DEVICE = ("devPtr", "dst", "src", "outputAddr", "devAddr", "leftValue", "rightValue", "virPtr", "ptr", "argsData",
           "addr", "cmoDesc", "desc")  # fmt: skip
"""Parameters that are memory of a device as a rule."""
_USUAL: dict[str, tuple[int, ...]] = {
    "deviceId": (0, 0, 0, 1), "peerDeviceId": (1, 0), "size": (64, 4096, 2097152, 0), "count": (64, 8, 0),
    "kind": (0, 1, 2, 3, 4, 5, 6), "policy": (0, 1, 2, 3, 4, 5, 6), "destMax": (64, 128), "maxCount": (64, 128),
    "dstMax": (64,), "timeout": (-1, 1, 100, 0, -2), "flag": (0, 1, 2, 4, 8, 9, 16, 32, 64), "flags": (0, 1, 2),
    "mode": (0, 1, 2, 3), "num": (1, 2, 0), "numBlocks": (1, 8, 0), "outputSize": (64, 0, 100), "priority": (0, 7, 8),
    "option": (0, 1, 2, 3), "reserve": (0, 1), "rsv": (0, 1), "memSize": (64, 4), "N": (4, 1, 0), "width": (8, 0),
    "height": (2, 0), "dpitch": (64, 4), "spitch": (64, 4), "level": (0, 1), "attr": (0, 1, 2, 3, 4, 5, 6, 7),
    "type": (0, 1, 2, 3, 4, 5), "stmAttrType": (1, 2, 3, 4, 5, 6, 0), "value": (0, 1, 2), "checkMode": (0, 1),
    "blockType": (0, 1), "cond": (0, 1, 5, 6), "dataType": (0, 1, 3, 9, 10), "advise": (0, 1, 2, 3),
    "handleType": (0, 1, 2, 4), "limit": (0, 1, 2, 3, 9), "memType": (0, 1, 2, 3, 4), "index": (0, 1, 5),
    "offset": (0, 8, 64), "length": (64, 0), "argsSize": (64, 8, 0), "taskId": (0, 1), "streamId": (0, 1, 99),
    "len": (128, 4, 0), "maxLen": (128, 4), "numTasks": (0, 1), "alignment": (0, 1, 4096), "placeHolderNum": (0, 1),
    "cmoType": (6, 7, 8, 0), "barrierId": (0, 1), "numAttrs": (1, 2, 0), "numBatches": (2, 1, 0),
    "deviceIdList": (0,), "isNeedClear": (0, 1), "cacheOpInfoSwitch": (0, 1),
}  # fmt: skip
"""Numbers that parameters take as a rule, right and nearly right."""
_WRONG = (0, 1, -1, 3, 99, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40)
_FUNC_TYPE, _VECTOR = 1, 2
"""A kernel's type in its meta data (elf_format: F_TYPE_KTYPE), and that of vector cores."""
_PLAIN = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t", "float",
          "bool")  # fmt: skip


@cache
def _rows() -> dict[str, c.CFunction]:
    """Return the functions whose arguments can be drawn, by name."""
    found = {}
    for row in c.functions():
        entry = find(row.name)
        by_value = any(each.type in c.structs() for each in row.parameters)
        if entry is not None and not (by_value or row.formats or row.name in (*_LEFT_OUT, *LEFT_OUT)):
            found[row.name] = row
    return found


def drawable() -> tuple[str, ...]:
    """Return the functions that programs can call."""
    return tuple(_rows())


@dataclass(slots=True)
class Draw:
    """A program on its way: what there is by kind, and which threads it has."""

    random: random.Random
    functions: tuple[str, ...]
    """What is called."""
    steps: list[Step] = field(default_factory=list)
    live: dict[str, list[str]] = field(default_factory=dict)
    count: int = 0

    def add(self, function: str, **arguments: Argument) -> None:
        """Add a step."""
        self.steps.append(Step(function, arguments))

    def made(self, kind: str) -> Argument:
        """Return an output for a new thing of a kind."""
        self.count += 1
        name = f"{kind}{self.count}"
        self.live.setdefault(kind, []).append(name)
        return {"out": name, "handle": True}

    def one(self, kind: str, wrong: float) -> Argument:
        """Return a thing of a kind; with a chance NULL or a thing of another kind that has handles."""
        if self.random.random() < wrong:
            others = [name for names in (self.live.get(each, []) for each in ("stream", "event", "notify", "model"))
                      for name in names]  # fmt: skip
            return self.random.choice([None, *({"var": name} for name in others[-2:])])
        names = self.live.get(kind, [])
        return {"var": self.random.choice(names[-3:])} if names else None

    def number(self, name: str, wrong: float) -> int:
        """Return a number for a parameter."""
        usual = _USUAL.get(name, (0, 1, 2, 3, 4, 5, 6))
        return self.random.choice(_WRONG if self.random.random() < wrong else usual)

    def buffer(self, size: int = 256, fill: int = 0) -> Argument:
        """Return new memory of the host."""
        self.count += 1
        return {"data": f"b{self.count}", "size": size, "fill": fill}

    def words(self, *items: Argument) -> Argument:
        """Return the address of 64-bit words, which may be variables."""
        self.count += 1
        return {"words": list(items), "name": f"w{self.count}"}

    def call(self, function: str, *, wrong: float = 0.15) -> None:
        """Add a call of a function, whose arguments are wrong with a chance."""
        row, entry = _rows()[function], find(function)
        assert entry is not None
        parameters = {each.name: each for each in entry.arguments}
        arguments: dict[str, Argument] = {}
        for each in row.parameters:
            arguments[each.name] = self._argument(function, each, parameters[each.name].output, wrong)
        if function in ("aclmdlRIGetStreams", "aclmdlRIGetTasksByStream"):  # arrays of the caller's, by address
            arguments[row.parameters[1].name] = None
        thread = "t1" if self.random.random() < wrong / 3 else ""
        self.steps.append(Step(function, arguments, thread))

    def _argument(self, function: str, each: c.Field, output: bool, wrong: float) -> Argument:
        kind = each.type.removeprefix("const ")
        if output:
            return self._output(function, each.name, kind.removesuffix("*"), wrong)
        if kind in c.callbacks():
            return None if self.random.random() < wrong else {"callback": True}
        if kind in c.enumerations() and each.name not in _USUAL:
            return self.number(each.name, 0.2) if self.random.random() < wrong else self.random.choice(
                sorted(c.enumerations()[kind].values()))  # fmt: skip
        if kind in _PLAIN or kind in c.numbers() or kind in c.enumerations():
            return self.number(each.name, wrong)
        if kind in _KINDS:
            return self.one(_KINDS[kind], wrong)
        if kind == "char*":
            return self.random.choice(("name", "add_custom", "", None) if self.random.random() < wrong else ("name",))
        if self.random.random() < wrong:
            return None
        if kind == "void*" and each.name in _DEVICE:
            if self.random.random() < 0.8 and self.live.get("memory"):
                return {"var": self.random.choice(self.live["memory"])}
            return self.buffer()
        if kind == "void*" and each.name == "hostPtr" and self.live.get("pinned"):
            return {"var": self.random.choice(self.live["pinned"])}
        if kind.removesuffix("*") in _KINDS:
            return self.words(*(self.one(_KINDS[kind[:-1]], wrong) for _ in range(2)))
        if kind == "void**":
            return self.words(*(self.one("memory", wrong) for _ in range(2)))
        if kind in ("size_t*", "uint64_t*"):
            return self.words(*(self.random.choice((64, 64, 32, 0)) for _ in range(2)))
        if kind.removesuffix("*") in c.opaque():
            return None  # there is no table of these handles: another one crashes the library
        if kind.removesuffix("*") in c.structs():
            return self._struct(kind[:-1])
        return self.buffer()

    def _output(self, function: str, name: str, kind: str, wrong: float) -> Argument:
        if self.random.random() < wrong / 3:
            return None
        if kind in _KINDS:
            return self.made(_KINDS[kind])
        self.count += 1
        variable = f"v{self.count}"
        if kind.endswith("*"):
            if function.startswith("aclrtMalloc") and "Host" not in function:
                return self.made("memory" if function != "aclrtMallocPhysical" else "physical")
            return self.made("pinned" if "Host" in function else "address")
        return {"out": variable, "compare": name not in _WITHOUT_VALUE.get(function, ())}

    def _struct(self, kind: str) -> Argument:
        fields = {}
        for each in c.structs()[kind][1]:
            if each.name and not each.count and (each.type in _PLAIN or each.type in c.enumerations()):
                fields[each.name] = self.number(each.name, 0.1) if self.random.random() < 0.5 else 0
        self.count += 1
        return {"struct": kind, "fields": fields, "name": f"s{self.count}"}


def _setting(draw: Draw) -> None:
    """Make some of everything."""
    for function in ("aclrtCreateStream", "aclrtCreateEvent", "aclrtCreateNotify", "aclrtCreateLabel"):
        draw.call(function, wrong=0)
    draw.add("aclrtCreateStreamWithConfig", stream=draw.made("stream"), priority=0,
             flag=draw.random.choice((0, 1, 2, 4, 4, 4, 8, 16, 32, 64, 5, 20)))  # fmt: skip
    draw.add("aclrtCreateEventExWithFlag", event=draw.made("event"), flag=draw.random.choice((1, 8, 9)))
    draw.add("aclrtMalloc", devPtr=draw.made("memory"), size=1 << 20, policy=0)
    draw.add("aclrtMallocHost", hostPtr=draw.made("pinned"), size=1 << 16)
    draw.add("aclmdlRIBuildBegin", modelRI=draw.made("model"), flag=0)


def _capture(draw: Draw) -> None:
    stream = draw.one("stream", 0.05)
    draw.add("aclmdlRICaptureBegin", stream=stream, mode=draw.random.choice((0, 1, 2, 2)))
    if draw.random.random() < 0.6:
        draw.add("aclrtMemsetAsync", devPtr=draw.one("memory", 0), maxCount=64, value=1, count=64, stream=stream)
    for _ in range(draw.random.randrange(4)):
        _any(draw)
    draw.add("aclmdlRICaptureEnd", stream=stream, modelRI=draw.made("model"))


def _model(draw: Draw) -> None:
    model, stream = draw.made("model"), draw.made("stream")
    bound = {"var": stream["out"]}
    draw.add("aclrtCreateStreamWithConfig", stream=stream, priority=0, flag=4)
    draw.add("aclmdlRIBuildBegin", modelRI=model, flag=0)
    draw.add("aclmdlRIBindStream", modelRI={"var": model["out"]}, stream=bound, flag=draw.random.choice((0, 0, 1)))
    for _ in range(draw.random.randrange(3)):
        _any(draw)
    if draw.random.random() < 0.7:
        draw.add("aclmdlRIEndTask", modelRI={"var": model["out"]}, stream=bound)
        draw.add("aclmdlRIBuildEnd", modelRI={"var": model["out"]}, reserve=None)


def _kernel(draw: Draw) -> None:
    """Load a kernel for vector cores, and launch it."""
    image = ElfWriter().kernel("add", u32(_FUNC_TYPE, _VECTOR), size=256).build()
    draw.count += 1
    data = {"data": f"e{draw.count}", "size": len(image), "fill": 0, "hex": image.hex()}
    binary, function = draw.made("binary"), draw.made("function")
    draw.add("aclrtBinaryLoadFromData", data=data, length=len(image), options=None, binHandle=binary)
    draw.add("aclrtBinaryGetFunction", binHandle={"var": binary["out"]}, kernelName="add", funcHandle=function)
    for _ in range(draw.random.randrange(3)):
        draw.call(draw.random.choice((
            "aclrtLaunchKernel", "aclrtLaunchKernelV2", "aclrtLaunchKernelWithHostArgs", "aclrtGetFunctionAttribute",
            "aclrtKernelArgsInit", "aclrtBinaryUnLoad",
        )))  # fmt: skip


def _mapped(draw: Draw) -> None:
    """Reserve addresses, and map memory there."""
    virtual, physical = draw.made("memory"), draw.made("physical")
    fields = {"memAttr": draw.random.choice((0, 1, 2)), "location.type": 1}
    given = {"struct": "aclrtPhysicalMemProp", "fields": fields, "name": f"{virtual['out']}p"}
    draw.add("aclrtReserveMemAddress", virPtr=virtual, size=1 << 21, alignment=0, expectPtr=None, flags=1)
    draw.add("aclrtMallocPhysical", handle=physical, size=1 << 21, prop=given, flags=0)
    draw.add("aclrtMapMem", virPtr={"var": virtual["out"]}, size=1 << 21, offset=0,
             handle={"var": physical["out"]}, flags=0)  # fmt: skip


def _group(draw: Draw) -> None:
    """Record a group of tasks in a capture."""
    stream = draw.one("stream", 0.05)
    draw.add("aclmdlRICaptureBegin", stream=stream, mode=2)
    draw.add("aclmdlRICaptureTaskGrpBegin", stream=stream)
    draw.add("aclrtMemsetAsync", devPtr=draw.one("memory", 0), maxCount=64, value=1, count=64, stream=stream)
    draw.add("aclmdlRICaptureTaskGrpEnd", stream=stream, handle=draw.made("group"))
    _any(draw)
    draw.add("aclmdlRICaptureEnd", stream=stream, modelRI=draw.made("model"))


def _device(draw: Draw) -> None:
    """Go to a device, or give one up."""
    draw.add(draw.random.choice(("aclrtSetDevice", "aclrtSetDevice", "aclrtResetDevice", "aclrtResetDeviceForce")),
             deviceId=draw.random.choice((0, 1)))  # fmt: skip


def _context(draw: Draw) -> None:
    draw.add("aclrtCreateContext", context=draw.made("context"), deviceId=draw.random.choice((0, 0, 1)))


def _any(draw: Draw) -> None:
    draw.call(draw.random.choice(draw.functions))


_ACTIONS = (_any, _capture, _model, _context, _kernel, _mapped, _group, _device)
_WEIGHTS = (40, 2, 2, 1, 2, 1, 1, 1)
"""What programs do, and how often."""


def anything(seed: str, length: int, only: Iterable[str] = ()) -> list[Step]:
    """Return a program of calls of any function, or of those named; the same one for the same seed."""
    draw = Draw(random.Random(seed), tuple(name for name in only if name in _rows()) or tuple(_rows()))
    _setting(draw)
    while len(draw.steps) < length:
        draw.random.choices(_ACTIONS, _WEIGHTS)[0](draw)
    return draw.steps


def value_of(kind: str, fields: dict[str, Any]) -> Any:
    """Return a struct of the C API with fields set."""
    made = c.ctype(kind)()
    for name, value in fields.items():
        *outer, last = name.split(".")
        setattr(reduce(getattr, outer, made), last, value)
    return made
