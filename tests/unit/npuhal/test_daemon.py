"""The starter of device processes: calls, errors, and its absence."""

from __future__ import annotations

import ctypes
import pickle

import pytest

from npuhal.api import LibraryApi
from npuhal.daemon import Absent, DaemonError, TsdClient, find_daemon
from npuhal.errors import NpuhalError


class TsdLibrary:
    """C functions of libtsdclient.so that keep their arguments."""

    def __init__(self, answers: dict[str, int] | None = None, without: tuple[str, ...] = ()) -> None:
        self.calls: list[tuple[object, ...]] = []
        codes = answers or {}
        u32, i32, u64 = ctypes.c_uint32, ctypes.c_int32, ctypes.c_uint64

        def keep(name):
            return lambda *arguments: self.calls.append((name, *arguments)) or codes.get(name, 0)

        def capability(device, kind, address):
            self.calls.append(("TsdCapabilityGet", device, kind))
            u64.from_address(address).value = 7
            return codes.get("TsdCapabilityGet", 0)

        def status(device, pointer):
            pointer[0] = 1
            return 0

        signatures = {
            "TsdOpen": (keep("TsdOpen"), u32, u32),
            "TsdOpenEx": (keep("TsdOpenEx"), u32, u32, u32),
            "TsdClose": (keep("TsdClose"), u32),
            "TsdCapabilityGet": (capability, u32, i32, u64),
            "GetHdcConctStatus": (status, u32, ctypes.POINTER(i32)),
            "TsdSetMsprofReporterCallback": (keep("TsdSetMsprofReporterCallback"), ctypes.c_void_p),
        }
        for name, (function, *arguments) in signatures.items():
            if name not in without:
                setattr(self, name, ctypes.CFUNCTYPE(u32, *arguments)(function))


def test_open_with_and_without_a_mode():
    library = TsdLibrary()
    client = TsdClient(library)
    client.open(3)
    client.open(1, rank_size=8, mode=2)
    client.close(3)
    assert library.calls == [("TsdOpen", 3, 0), ("TsdOpenEx", 1, 8, 2), ("TsdClose", 3)]


def test_questions():
    library = TsdLibrary()
    client = TsdClient(library)
    assert client.capability_qos(2) == 7
    assert library.calls == [("TsdCapabilityGet", 2, 0)]
    assert client.connection_status(0) == 1


def test_profiling_reporter_is_handed_over():
    library = TsdLibrary()
    TsdClient(library).set_profiling_reporter(0x1234)
    assert library.calls == [("TsdSetMsprofReporterCallback", 0x1234)]


def test_an_older_client_without_questions():
    names = ("TsdCapabilityGet", "GetHdcConctStatus", "TsdSetMsprofReporterCallback")
    client = TsdClient(TsdLibrary(without=names))
    assert client.capability_qos(0) == 0
    assert client.connection_status(0) is None
    client.set_profiling_reporter(1)


def test_a_refusal_names_call_code_device_and_cure():
    client = TsdClient(TsdLibrary({"TsdOpen": 31}))
    with pytest.raises(DaemonError, match=r"TsdOpen for device 5 answered 31.*tsdaemon") as caught:
        client.open(5)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.call, copy.code, copy.device) == ("TsdOpen", 31, 5)


def test_a_client_that_cannot_open_says_so():
    with pytest.raises(NpuhalError, match=r"tsd\.so does not export TsdOpen"):
        TsdClient(TsdLibrary(without=("TsdOpen",)), "tsd.so").open(0)


def test_absence_is_a_state():
    def load(name):
        raise OSError(f"{name}: cannot open shared object file")

    assert find_daemon(load) == Absent("libtsdclient.so: cannot open shared object file")


def test_presence():
    client = find_daemon(lambda name: TsdLibrary(), "/opt/lib/libtsdclient.so")
    assert isinstance(client, TsdClient)
    assert client.path == "/opt/lib/libtsdclient.so"


def test_a_loaded_hal_offers_the_installed_daemon(monkeypatch):
    hal = LibraryApi("hal://", object(), "x")  # type: ignore[arg-type]
    monkeypatch.setattr("npuhal.daemon.find_daemon", lambda: Absent("not here"))
    assert hal.daemon() is None
    client = TsdClient(TsdLibrary())
    monkeypatch.setattr("npuhal.daemon.find_daemon", lambda: client)
    assert hal.daemon() is client
