"""A process with one of everything, from which a row's call takes the arguments that it does not test."""

from __future__ import annotations

import ctypes
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

from runtime.capi.aclrt import Acl, Out
from runtime.capi.aclrt.entry import Entry, find
from runtime.capi.aclrt.graph.branching import aclmdlRICondTaskParams
from runtime.cli.sample import minimal_kernel
from tests.tools.elf_writer import ALLOC, OBJECT, ElfWriter, u32

SOCS = {"910B1": "ascend910b1", "910_9391": "ascend910_9391", "950": "ascend950pr_9599"}
DEAD = 0x7FFF_0001_0003
"""A handle that nothing has."""
_MANY_PAIRS = 4097
"""One more than a batch of copies may hold."""
_HOST_BYTES = 1 << 16
_PERSISTENT = 4
_RANDOM_BYTES = 104
"""aclrtRandomNumTaskInfo."""
_VECTOR_KERNEL = 2
"""Type of a kernel for vector cores, in the section that says so."""
_CPU_KERNELS = (3, 2, 0, 0, 0)
"""aclrtBinaryLoadOption: mode of kernels for the AICPU, a library that is sent to the device."""
_IMAGE = bytes(minimal_kernel("add_custom", arguments=3))


class Lost(Exception):
    """What a row needs cannot be made."""


class World:
    """One process on a fake of a chip; things are made when a call first needs them."""

    def __init__(
        self, chip: str, machine: str = "", environment: Mapping[str, str] | None = None, soc: str = ""
    ) -> None:
        """Start on a fake of a chip, or of another SoC, with further options of its URL, and in an environment."""
        self.chip = chip
        self.acl = Acl(f"fake://{soc or SOCS[chip]}?devices=2&seed=1&kernels=noop{machine and '&' + machine}")
        self._kept: list[Any] = []
        self._made: dict[str, Any] = {}
        self._folders: list[tempfile.TemporaryDirectory[str]] = []
        self._named: dict[str, Any] = {}
        """What the calls before a row's have given."""
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._loop, daemon=True).start()
        saved = {name: os.environ.get(name) for name in environment or {}}
        os.environ.update(environment or {})
        try:
            self._ok("aclInit")
            self._ok("aclrtSetDevice", deviceId=0)
        finally:
            for name, value in saved.items():
                os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
        self.main = self._output("aclrtGetCurrentContext", "context")

    def _loop(self) -> None:
        while (job := self._work.get()) is not None:
            self._done.put(job())

    def close(self) -> None:
        """End the process."""
        self._work.put(None)
        self.acl.close()
        for folder in self._folders:
            folder.cleanup()

    def obey(self) -> None:
        """Let the driver answer again as it does."""
        self.acl.runtime.hal.fake.faults.clear()

    def call(self, entry: Entry, given: dict[str, Any], *, elsewhere: bool | str = False) -> tuple[Any, str]:
        """Make a call, on another thread if so asked ("context": one that has one); return answer and first message."""

        def run() -> tuple[Any, str]:
            self.acl.reports.take_text()
            answer = self.acl.call(entry.name, **given)
            ids = self.acl.reports.message_ids()
            self.acl.reports.take_text()
            return answer, ids[-1] if ids else ""

        if not elsewhere:
            return run()
        if elsewhere == "context":
            self._work.put(lambda: self.acl.call("aclrtSetCurrentContext", context=self.main))
            self._done.get(timeout=20)
        self._work.put(run)
        found: tuple[Any, str] = self._done.get(timeout=20)
        return found

    def arguments(self, entry: Entry, other: Container[str] = ()) -> dict[str, Any]:
        """Return arguments that the function accepts, as far as that is known; those that get `other` values are 0."""
        given: dict[str, Any] = {}
        for each in entry.arguments:
            if each.name in other:
                given[each.name] = 0
            elif each.output:
                given[each.name] = None if entry.name == "aclrtGetPrimaryCtxState" and each.name == "flags" else Out()
            else:
                given[each.name] = self.argument(entry.name, each.name, each.kind)
        return given

    def argument(self, function: str, name: str, kind: str) -> Any:
        """Return one argument."""
        for key in ((function, name), name):
            if key in _VALUES:
                value = _VALUES[key]
                return value(self) if callable(value) else value
        if kind == "Callback":
            return self.function
        if kind == "Text":
            return "text"
        if kind == "Handle":
            return DEAD
        return self.host if kind in ("Address", "ManagedLocation", "IpcEventHandle") else 1

    def step(self, function: str, arguments: dict[str, Any]) -> None:
        """Make a call that has to succeed (see `rows`); its outputs have names from then on."""
        entry = find(function)
        if entry is None:
            raise Lost(f"no function {function}")
        given = {**self.arguments(entry, arguments), **{name: self.built(each) for name, each in arguments.items()}}
        answer = self.acl.call(function, **given)
        if answer and not entry.answers:
            raise Lost(f"{function}: {answer} {self.acl.reports.take_text()}")
        self._named[function] = answer
        self._named.update((name, made.value) for name, made in given.items() if isinstance(made, Out))

    def built(self, value: Any) -> Any:
        """Return what a value of a test stands for (see `rows`)."""
        if value == "set":
            return self.host
        if isinstance(value, str) and value.startswith("$"):
            return self._named[value[1:]]
        if not isinstance(value, dict):
            return value
        ((form, what),) = value.items()
        return _FORMS[form](self, what)

    def file(self, text: str) -> str:
        """Return the path of a file with this text."""
        self._folders.append(folder := tempfile.TemporaryDirectory(prefix="checks"))
        path = Path(folder.name) / "file"
        path.write_text(text)
        return str(path)

    def halves(self, *values: int) -> int:
        """Return the address of 32-bit words."""
        words = (ctypes.c_uint32 * max(len(values), 64))(*values)
        self._kept.append(words)
        return ctypes.addressof(words)

    @property
    def thread(self) -> int:
        """The number that the main thread subscribes with."""
        return threading.get_ident()

    def chars(self, text: str) -> int:
        """Return the address of a text."""
        self._kept.append(made := ctypes.create_string_buffer(text.encode()))
        return ctypes.addressof(made)

    # -- things ----------------------------------------------------------------------------------------------------

    def thing(self, name: str) -> Any:
        """Return the one thing of a name, made on first use."""
        if name not in self._made:
            self._made[name] = _MAKERS[name](self)
        return self._made[name]

    def fresh(self, name: str) -> Any:
        """Return a new thing of a name."""
        return _MAKERS[name](self)

    @property
    def host(self) -> int:
        """The address of zeroed memory of the host."""
        buffer = ctypes.create_string_buffer(_HOST_BYTES)
        self._kept = [*self._kept[-8:], buffer]
        return ctypes.addressof(buffer)

    def pointers(self, *values: int) -> int:
        """Return the address of 64-bit words."""
        words = (ctypes.c_uint64 * max(len(values), 64))(*values)
        self._kept.append(words)
        return ctypes.addressof(words)

    @staticmethod
    def function(*_given: Any) -> int:
        """Do nothing, as a callback."""
        return 0

    @staticmethod
    def refusing(*_given: Any) -> int:
        """Answer 7, as a callback that fails."""
        return 7

    def held(self) -> int:
        """Return a stream whose device does not execute, with a task in it."""
        stream = int(self.fresh("stream"))
        ids = Out()
        self._ok("aclrtStreamGetId", stream=stream, streamId=ids)
        self.acl.runtime.hal.fake.device(0).hold(ids.value)
        self._ok("aclrtMemsetAsync", devPtr=self.thing("device memory"), maxCount=64, value=0, count=64, stream=stream)
        return stream

    def foreign(self, name: str) -> int:
        """Return a thing of another context."""
        self._ok("aclrtSetCurrentContext", context=self.thing("other context"))
        try:
            return int(self.fresh(name))
        finally:
            self._ok("aclrtSetCurrentContext", context=self.main)

    def captured(self) -> int:
        """Return a stream that is being captured."""
        stream = int(self.fresh("stream"))
        self._ok("aclmdlRICaptureBegin", stream=stream, mode=2)
        return stream

    def bound(self) -> int:
        """Return a stream that is bound to a model."""
        stream = self._output("aclrtCreateStreamWithConfig", "stream", priority=0, flag=_PERSISTENT)
        self._ok("aclmdlRIBindStream", modelRI=self.fresh("model"), stream=stream, flag=0)
        return int(stream)

    def _ok(self, name: str, **given: Any) -> None:
        code = self.acl.call(name, **given)
        if code:
            raise Lost(f"{name}: {code} {self.acl.reports.take_text()}")

    def _output(self, name: str, output: str, **given: Any) -> Any:
        made = Out()
        self._ok(name, **given, **{output: made})
        return made.value


def _plus(world: World, what: list[Any]) -> int:
    return int(world.built(what[0])) + int(what[1])


_FORMS: dict[str, Callable[[World, Any], Any]] = {
    "thing": lambda world, name: world.thing(name),
    "fresh": lambda world, name: world.fresh(name),
    "foreign": lambda world, name: world.foreign(name),
    "words": lambda world, items: world.pointers(*map(world.built, items)),
    "halves": lambda world, items: world.halves(*map(world.built, items)),
    "plus": _plus,
    "file": lambda world, text: world.file(text),
    "numbers": lambda world, items: tuple(items), "chars": lambda world, text: world.chars(text),
    "condition": lambda world, items: aclmdlRICondTaskParams(*map(world.built, items), world.host),
    "world": lambda world, name: getattr(world, name),
}
"""How values of tests are made."""


def _maker(function: str, output: str, **given: Any) -> Callable[[World], Any]:
    return lambda world: world._output(function, output, **{
        key: value(world) if callable(value) else value for key, value in given.items()
    })  # fmt: skip


def _thing(name: str) -> Callable[[World], Any]:
    return lambda world: world.thing(name)


def _fresh(name: str) -> Callable[[World], Any]:
    return lambda world: world.fresh(name)


def _other_context(world: World) -> Any:
    made = world._output("aclrtCreateContext", "context", deviceId=0)
    world._ok("aclrtSetCurrentContext", context=world.main)
    return made


def _kernel_file(world: World) -> int:
    buffer = ctypes.create_string_buffer(_IMAGE, len(_IMAGE))
    world._made["kernel"] = buffer
    return ctypes.addressof(buffer)


def _binary(world: World) -> Any:
    return world._output(
        "aclrtBinaryLoadFromData", "binHandle", data=world.thing("kernel file"), length=len(_IMAGE), options=0
    )


def _symbol(world: World) -> Any:
    """Return the address of a host variable that stands for one of the device with 16 bytes."""
    image = bytes(
        ElfWriter().section(".data", b"\x05" * 32, flags=ALLOC).kernel("k", u32(1, _VECTOR_KERNEL), size=64)
        .symbol("setting", type=OBJECT, section=2, value=0, size=16).build()
    )  # fmt: skip
    world._made["image of symbol"] = held = ctypes.create_string_buffer(image, len(image))
    binary = world._output(
        "aclrtBinaryLoadFromData", "binHandle", data=ctypes.addressof(held), length=len(image), options=0
    )
    made = world.pointers(0)
    world._ok("rtRegisterVariable", binHandle=binary, hostVar=made, deviceVarName="setting", size=16)
    return made


def _cpu_binary(world: World) -> Any:
    options = world.pointers(world.halves(*_CPU_KERNELS), 1)
    return world._output("aclrtBinaryLoadFromData", "binHandle", data=world.chars("library"), length=7, options=options)


def _cpu_function(world: World) -> Any:
    return world._output(
        "aclrtRegisterCpuFunc", "funcHandle", handle=world.thing("cpu binary"), funcName="f", kernelName="k"
    )


def _graph(world: World) -> Any:
    stream = world.fresh("stream")
    world._ok("aclmdlRICaptureBegin", stream=stream, mode=2)
    world._ok("aclrtMemsetAsync", devPtr=world.thing("device memory"), maxCount=64, value=0, count=64, stream=stream)
    return world._output("aclmdlRICaptureEnd", "modelRI", stream=stream)


def _capturing(world: World) -> Any:
    """Return a graph that is being captured."""
    return world._output("aclmdlRICaptureGetInfo", "modelRI", stream=world.captured(), status=Out())


def _sub_graph(world: World) -> Any:
    """Return the branch of a condition in a graph that is being captured."""
    stream = world.captured()
    graph = world._output("aclmdlRICaptureGetInfo", "modelRI", stream=stream, status=Out())
    handle = world._output("aclmdlRICondHandleCreate", "handle", modelRI=graph, defaultLaunchValue=0, flag=0)
    branches = (ctypes.c_uint64 * 1)()
    params = aclmdlRICondTaskParams(handle, 0, 1, ctypes.addressof(branches))
    world._ok("aclmdlRIAddCondTask", params=params, stream=stream, flags=0)
    return branches[0]


def _condition(world: World) -> Any:
    """Return the handle of a condition of a graph whose capture was ended."""
    stream = world.captured()
    graph = world._output("aclmdlRICaptureGetInfo", "modelRI", stream=stream, status=Out())
    made = world._output("aclmdlRICondHandleCreate", "handle", modelRI=graph, defaultLaunchValue=0, flag=0)
    world._ok("aclrtMemsetAsync", devPtr=world.thing("device memory"), maxCount=64, value=0, count=64, stream=stream)
    world._output("aclmdlRICaptureEnd", "modelRI", stream=stream)
    return made


def _graph_task(world: World) -> Any:
    graph, stream = world.fresh("graph"), (ctypes.c_uint64 * 1)()
    world._ok("aclmdlRIGetStreams", modelRI=graph, streams=ctypes.addressof(stream), numStreams=world.halves(1))
    task = (ctypes.c_uint64 * 1)()
    world._ok("aclmdlRIGetTasksByStream", stream=stream[0], tasks=ctypes.addressof(task), numTasks=world.halves(1))
    return task[0]


def _created_on_demand(world: World) -> Any:
    return world.acl.call("aclrtCreateStreamConfigHandle")


def _page(world: World) -> int:
    return -(-world.host // 4096) * 4096


def _tensor(place: Callable[[World], Any]) -> Callable[[World], Any]:
    return lambda world: world.acl.call(
        "acltdtCreateDataItem", tdtType=0, dims=world.pointers(2, 2), dimNum=2, dataType=0, data=place(world), size=16
    )


def _dataset(place: Callable[[World], Any]) -> Callable[[World], Any]:
    def make(world: World) -> Any:
        made = world.acl.call("acltdtCreateDataset")
        world._ok("acltdtAddDataItem", dataset=made, dataItem=_tensor(place)(world))
        return made

    return make


def _received(world: World) -> Any:
    world._ok("acltdtSendTensor", handle=world.thing("channel"), dataset=world.thing("host dataset"), timeout=0)
    made = world.acl.call("acltdtCreateDataset")
    world._ok("acltdtReceiveTensor", handle=world.thing("channel"), dataset=made, timeout=0)
    return made


def _exported_notify(world: World) -> Any:
    made = world.fresh("notify")
    world._ok("aclrtNotifyGetExportKey", notify=made, key=world.host, len=65, flags=0)
    return made


def _described_list(world: World) -> Any:
    return world._output("aclrtKernelArgsInit", "argsHandle", funcHandle=world.thing("function"))


_MAKERS: dict[str, Callable[[World], Any]] = {
    "other context": _other_context, "symbol": _symbol, "cpu binary": _cpu_binary, "cpu function": _cpu_function,
    "stream": _maker("aclrtCreateStream", "stream"),
    "persistent stream": _maker("aclrtCreateStreamWithConfig", "stream", priority=0, flag=_PERSISTENT),
    "event": _maker("aclrtCreateEventExWithFlag", "event", flag=9),
    "timed event": _maker("aclrtCreateEventWithFlag", "event", flag=8),
    "plain event": _maker("aclrtCreateEventWithFlag", "event", flag=1),
    "ipc event": _maker("aclrtCreateEventExWithFlag", "event", flag=0x40),
    "notify": _maker("aclrtCreateNotify", "notify", flag=0),
    "exported notify": _exported_notify,
    "count notify": _maker("aclrtCntNotifyCreate", "cntNotify", flag=0),
    "model": _maker("aclmdlRIBuildBegin", "modelRI", flag=0),
    "graph": _graph, "capturing graph": _capturing,
    "label": _maker("aclrtCreateLabel", "label"),
    "device memory": _maker("aclrtMalloc", "devPtr", size=1 << 16, policy=0),
    "pinned memory": _maker("aclrtMallocHost", "hostPtr", size=1 << 16),
    "kernel file": _kernel_file, "kernel bytes": lambda _world: len(_IMAGE), "binary": _binary,
    "function": _maker("aclrtBinaryGetFunction", "funcHandle", binHandle=_thing("binary"), kernelName="add_custom"),
    "argument list": _described_list,
    "allocator": lambda world: world.acl.call("aclrtAllocatorCreateDesc"),
    "stamp": lambda world: world.acl.call("aclprofCreateStamp"),
    "step": lambda world: world.acl.call("aclprofCreateStepInfo"),
    "data item": lambda world: world.acl.call("acltdtCreateDataItem", tdtType=1),
    "dataset": lambda world: world.acl.call("acltdtCreateDataset"),
    "queue attributes": lambda world: world.acl.call("acltdtCreateQueueAttr"),
    "context": _other_context,
    "captured stream": lambda world: world.captured(),
    "buffer": _maker("aclrtAllocBuf", "buf", size=64),
    "stream configuration": _created_on_demand, "condition": _condition, "sub graph": _sub_graph,
    "graph task": _graph_task, "page": _page,
    "managed memory": _maker("aclrtMemAllocManaged", "ptr", size=4096, flag=1),
    "channel": lambda world: world.acl.call(
        "acltdtCreateChannelWithCapacity", deviceId=0, name="channel", capacity=4
    ),
    "tensor": _tensor(lambda world: world.host), "device tensor": _tensor(lambda world: world.thing("device memory")),
    "host dataset": _dataset(lambda world: world.host), "received dataset": _received,
    "empty dataset": lambda world: world.acl.call("acltdtCreateDataset"),
    "route": lambda world: world.acl.call("acltdtCreateQueueRoute", srcId=1, dstId=2),
    "routes": lambda world: world.acl.call("acltdtCreateQueueRouteList"),
    "question": lambda world: world.acl.call("acltdtCreateQueueRouteQueryInfo"),
    "queue": _maker("acltdtCreateQueue", "qid", attr=0),
    "profile": lambda world: world.acl.call(
        "aclprofCreateConfig", deviceIdList=world.halves(0), deviceNums=1, aicoreMetrics=255, aicoreEvents=0,
        dataTypeConfig=2,
    ),
    "bound stream": lambda world: world.bound(),
}
"""How things are made."""

FOREIGN = {
    ("aclmdlRICondHandleCreate", "modelRI"): "graph", ("aclrtDestroyLabel", "label"): "label",
    ("aclrtSetLabel", "label"): "label", ("aclrtActiveStream", "stream"): "bound stream",
    ("aclrtSwitchStream", "stream"): "bound stream", ("aclmdlRICaptureTaskGrpBegin", "stream"): "captured stream",
    ("aclmdlRICaptureTaskGrpEnd", "stream"): "captured stream", ("aclrtSwitchLabelByIndex", "stream"): "bound stream",
}  # fmt: skip
"""What functions need of a stream or label of another context, where that is not any one."""

_VALUES: dict[Any, Any] = {
    "numAttrs": 1, "numBatches": 1, "shareType": 1,
    ("aclmdlRIAddCondTask", "params"): lambda world: aclmdlRICondTaskParams(
        world.thing("condition"), 0, 1, world.host
    ),
    **{(name, "stream"): _fresh("captured stream") for name in (
        "aclmdlRICaptureTaskGrpBegin", "aclmdlRICaptureTaskGrpEnd",
    )},
    **{(name, key): _fresh("bound stream") for name, key in (
        ("aclrtActiveStream", "stream"), ("aclrtActiveStream", "activeStream"), ("aclrtSwitchStream", "stream"),
        ("aclrtSwitchStream", "trueStream"), ("aclrtSwitchLabelByIndex", "stream"),
    )},
    **{name: lambda world: world.pointers(world.thing("device memory")) for name in ("dsts", "ptrs")},
    "srcs": lambda world: world.pointers(world.thing("pinned memory")),
    "attrs": lambda world: world.pointers(1 << 32),  # from the host to device 0
    "destMaxs": lambda world: world.pointers(*[64] * _MANY_PAIRS),
    "sizes": lambda world: world.pointers(*[64] * _MANY_PAIRS), ("aclrtMemcpy", "src"): _thing("pinned memory"),
    ("aclrtHostRegisterV2", "flag"): 2, ("aclrtCreateLabelList", "num"): 1,
    ("aclrtCreateLabelList", "labels"): lambda world: world.pointers(world.thing("label")),
    ("aclrtNotifyBatchReset", "notifies"): lambda world: world.pointers(world.thing("notify")),
    ("aclrtNotifyBatchReset", "num"): 1, ("aclrtTaskUpdateAsync", "taskStream"): _thing("stream"),
    ("aclrtTaskUpdateAsync", "execStream"): _thing("stream"), ("aclrtNotifySetImportPid", "num"): 1,
    ("aclrtTaskUpdateAsync", "info"): lambda world: world.pointers(1, world.host, _RANDOM_BYTES),
    **{(name, "mdl"): _thing("model") for name in ("rtModelDestroy", "rtModelLoadComplete")},
    ("rtModelDestroy", "mdl"): _fresh("model"), ("rtEventQuery", "evt"): _thing("event"),
    ("aclrtCreateBinary", "data"): lambda world: world.host,
    "stream": _thing("stream"), "activeStream": _thing("stream"), "trueStream": _thing("stream"), "falseStream": 0,
    "event": _thing("event"), "startEvent": _thing("timed event"), "endEvent": _thing("timed event"),
    "notify": _thing("notify"), "cntNotify": _thing("count notify"), "modelRI": _thing("model"),
    "label": _thing("label"),
    "binHandle": _thing("binary"), "funcHandle": _thing("function"), "argsHandle": _thing("argument list"),
    "allocatorDesc": _thing("allocator"), "stamp": _thing("stamp"), "stepInfo": _thing("step"),
    "stepinfo": _thing("step"), "dataItem": _thing("data item"), "dataset": _thing("dataset"),
    "devPtr": _thing("device memory"), "devAddr": _thing("device memory"), "dst": _thing("device memory"),
    "src": _thing("device memory"), "hostPtr": _thing("pinned memory"), "virPtr": _thing("device memory"),
    "outputAddr": _thing("device memory"), "leftValue": _thing("device memory"),
    "rightValue": _thing("device memory"), "desc": _thing("device memory"), "cmoDesc": _thing("device memory"),
    "argsData": _thing("device memory"), "srcAddr": _thing("device memory"), "dstAddr": _thing("device memory"),
    "deviceId": 0, "size": 64, "count": 64, "flag": 0, "flags": 0, "reserve": 0, "rsv": 0, "cfg": 0, "options": 0,
    "kind": 4, "policy": 0, "timeout": 1, "numBlocks": 1, "argsSize": 64, "offset": 0, "destMax": 1 << 16,
    "dstMax": 1 << 16, "maxCount": 1 << 16, "memSize": 1 << 16, "N": 4, "dpitch": 64, "spitch": 64, "width": 32,
    "height": 2, "mode": 0, "opt": 0, "attr": 0, "type": 0, "outputSize": 64, "checkMode": 0, "level": 0,
    "blockType": 0, "priority": 0, "len": 128, "maxLen": 128, "cond": 0, "dataType": 0, "placeHolderNum": 0,
    "placeHolderArray": 0, "memType": 2, "advise": 0, "handleType": 0, "option": 0, "limit": 2, "value": 0,
    "expectPtr": 0, "alignment": 0, "config": 0, "kernelName": "add_custom", "configPath": None,
    "gridDim": (1, 1, 1), "blockDim": (1, 1, 1), "stmAttrType": 3, "dynUbufSize": 0, "cmoType": 0,
    "context": _thing("context"),
    ("aclrtSetStreamAttribute", "value"): lambda world: world.host,
    ("aclrtGetStreamAttribute", "value"): lambda world: world.host,
    "pid": lambda world: world.acl.runtime.pid,
    ("aclrtIpcMemSetImportPid", "pid"): lambda world: world.host,
    ("aclrtNotifySetImportPid", "notify"): _thing("exported notify"),
    ("aclrtNotifySetImportPid", "pid"): lambda world: world.host,
    ("aclrtMemSetPidToShareableHandle", "pid"): lambda world: world.host,
    ("aclrtMemSetPidToShareableHandleV2", "pid"): lambda world: world.host,
    ("aclmdlRIBindStream", "stream"): _fresh("persistent stream"),
    ("aclrtMemManagedAdvise", "flag"): 1, ("aclrtMemAllocManaged", "flag"): 1,
    ("aclrtCreateEventExWithFlag", "flag"): 1,
    ("aclrtCreateEventWithFlag", "flag"): 1, ("rtEventCreateWithFlag", "flag"): 1,
    ("aclrtIpcGetEventHandle", "event"): _thing("ipc event"),
    ("aclrtEventGetTimestamp", "event"): _thing("timed event"),
    ("aclrtMemPoolSetAttr", "value"): lambda world: world.host,
    ("aclrtMemPoolGetAttr", "value"): lambda world: world.host,
    ("aclrtResetEvent", "event"): _thing("plain event"), ("aclrtMemsetD32", "ptr"): _thing("device memory"),
    ("aclrtMemsetD32Async", "ptr"): _thing("device memory"),
    ("aclrtPointerGetAttributes", "ptr"): _thing("device memory"),
    ("aclrtSetTsDevice", "tsId"): 0, ("aclrtMemGetAddressRange", "ptr"): _thing("device memory"),
    ("aclrtMemPoolFreeAsync", "ptr"): _thing("device memory"), ("aclrtReduceAsync", "kind"): 10,
    ("acltdtSetQueueAttr", "attr"): _thing("queue attributes"),
    ("acltdtGetQueueAttr", "attr"): _thing("queue attributes"),
    ("acltdtDestroyQueueAttr", "attr"): _fresh("queue attributes"),
    ("acltdtCreateQueue", "attr"): _thing("queue attributes"),
    **{(name, "func"): _thing("function") for name in (
        "aclrtFunctionGetParamCount", "aclrtFunctionGetParamInfo", "aclrtFunctionGetAvailDynUbufPerBlock",
        "aclrtLaunchKernelWithArgsArray", "aclrtLaunchSIMTKernelWithArgsArray", "aclrtLaunchSIMTKernelWithHostArgs",
    )},
    **{(name, "modelRI"): _thing("graph") for name in (
        "aclmdlRIUpdate", "aclmdlRICondHandleCreate", "aclmdlRIGetStreams", "aclmdlRIDebugPrint",
        "aclmdlRIDebugJsonPrint", "aclmdlRIExecuteAsync",
    )},
    **{(name, "stream"): _fresh("stream") for name in (
        "aclrtDestroyStream", "aclrtDestroyStreamForce", "aclmdlRICaptureBegin", "aclrtSetStreamFailureMode",
    )},
    **{(name, "kind"): 6 for name in (
        "aclrtGetMemcpyDescSize", "aclrtSetMemcpyDesc", "aclrtMemcpyAsyncWithDesc", "aclrtMemcpyAsyncWithOffset",
    )},
    ("aclrtDestroyEvent", "event"): _fresh("event"), ("aclrtDestroyNotify", "notify"): _fresh("notify"),
    ("aclrtCntNotifyDestroy", "cntNotify"): _fresh("count notify"), ("aclmdlRIDestroy", "modelRI"): _fresh("model"),
    ("aclrtBinaryUnLoad", "binHandle"): _fresh("binary"), ("aclrtDestroyLabel", "label"): _fresh("label"),
    ("aclrtFree", "devPtr"): _fresh("device memory"), ("aclrtFreeWithDevSync", "devPtr"): _fresh("device memory"),
    ("aclrtFreeHost", "hostPtr"): _fresh("pinned memory"),
    ("aclrtFreeHostWithDevSync", "hostPtr"): _fresh("pinned memory"),
    ("aclrtDestroyContext", "context"): _fresh("context"),
    ("aclrtAllocatorDestroyDesc", "allocatorDesc"): _fresh("allocator"),
    ("aclmdlRICaptureThreadExchangeMode", "mode"): lambda world: world.host,
    ("aclrtSnapShotProcessBackup", "args"): 0, ("aclrtSnapShotProcessRestore", "args"): 0,
    "deviceInfo": 0, "canAccessPeer": None, "peerDeviceId": 1, "userDevid": 0, "userDevId": 0, "logicDevId": 0,
    "phyDevId": 0, "otherDeviceId": 1, "srcDeviceId": 0, "dstDeviceId": 1, "dstDevId": 1, "index": 0, "msgLen": 1,
    "name": lambda world: world.host, ("aclmdlRISetName", "name"): "name",
    ("aclmdlRIDebugJsonPrint", "path"): "/dev/null",
    ("aclrtDeviceGetByPCIBusId", "pciBusId"): "0000:00:00.0", "socVersion": "Ascend910B1", "binPath": "/dev/null",
    ("acltdtCreateChannel", "name"): "channel", ("acltdtCreateChannelWithCapacity", "name"): "channel",
    ("aclrtBinaryGetGlobal", "name"): "g",
    "buf": _thing("buffer"), "headBuf": _thing("buffer"), ("aclrtFreeBuf", "buf"): _fresh("buffer"),
    ("aclrtAppendBufChain", "buf"): _fresh("buffer"),
    **{(name, "handle"): _thing("channel") for name in (
        "acltdtDestroyChannel", "acltdtCleanChannel", "acltdtSendTensor", "acltdtReceiveTensor",
        "acltdtQueryChannelSize",
    )},
    "qid": _thing("queue"), "dataSize": 8, "userDataSize": 0, "userData": 0, "qRouteList": _thing("routes"),
}  # fmt: skip
"""Arguments by (function, parameter), else by parameter."""


