"""Memory that two processes see, by physical memory and by key, with a list of processes and open to all."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from runtime.api import Runtime
from tests.tools.processes import PATIENCE_S, Line, processes, shared_name

CHIPS = ("ascend910b3", "ascend950pr_9599")
ANSWER, WRITTEN = 123, 1
FABRIC_BYTES = 128


def give_physical(line: Line, url: str, listed: bool) -> None:
    """Write a value into physical memory and wait until the other process has read it."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        size = device.granularity()
        with device.reserve(size) as addresses, device.create_physical(size) as physical:
            mapping = addresses.map(physical)
            device.copy(mapping, ANSWER.to_bytes(8, "little"), 8)
            number = physical.export(() if listed else None)
            line.send(number)
            if listed:
                device.virtual.allow(number, [line.hear()])
                line.send("allowed")
            assert line.hear() == "read"
            assert device.download(mapping.view(8, 8), "u8") == WRITTEN
            mapping.close()


def take_physical(line: Line, url: str, listed: bool) -> int:
    """Import physical memory, read the value and leave a flag behind."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        line.send(device.bare_pid())
        number, size = line.hear(), device.granularity()
        with device.reserve(size) as addresses, device.import_physical(number, size) as physical:
            mapping = addresses.map(physical)
            value = int(device.download(mapping.view(0, 8), "u8")[0])
            device.copy(mapping.view(8, 8), WRITTEN.to_bytes(8, "little"))
            mapping.close()
        return value


def serve_fabric(line: Line, url: str) -> None:
    """Offer physical memory to whoever connects over TCP, until the client says that it has read it."""
    with closing(Runtime(url)) as machine, socket.create_server(("127.0.0.1", 0)) as server:
        device = machine.device(0)
        size = device.granularity()
        with device.reserve(size) as addresses, device.create_physical(size) as physical:
            mapping = addresses.map(physical)
            device.copy(mapping, ANSWER.to_bytes(8, "little"), 8)
            line.send(server.getsockname()[1])
            server.settimeout(PATIENCE_S)
            client, _ = server.accept()
            with client:
                client.sendall(physical.export_fabric(None))
                assert client.recv(4) == b"read"
            mapping.close()


def ask_fabric(_line: Line, url: str, port: int) -> int:
    """Get a fabric handle from a server, and read what is behind it."""
    with closing(Runtime(url)) as machine, socket.create_connection(("127.0.0.1", port), PATIENCE_S) as server:
        device = machine.device(0)
        block = server.recv(FABRIC_BYTES, socket.MSG_WAITALL)
        size = device.granularity()
        with device.reserve(size) as addresses, device.import_physical(block, size) as physical:
            mapping = addresses.map(physical)
            value = int(device.download(mapping.view(0, 8), "u8")[0])
            mapping.close()
        server.sendall(b"read")
        return value


def give_key(line: Line, url: str, listed: bool) -> int:
    """Share a buffer under a key, let the other process change it, and read it again."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        buffer = device.alloc(4096)
        device.fill(buffer, 0)
        with device.share(buffer, () if listed else None) as exported:
            line.send(exported.key)
            if listed:
                exported.allow(line.hear())
                line.send("allowed")
            assert line.hear() == "written"
            return int(device.download(buffer.view(0, 8), "u8")[0])


def take_key(line: Line, url: str, listed: bool) -> int:
    """Open a key, write to the memory behind it on a stream, and read it back."""
    with closing(Runtime(url)) as machine:
        device = machine.device(0)
        line.send(device.bare_pid())
        with device.open_shared(line.hear()) as buffer, device.create_stream() as stream:
            stream.write_value(buffer, ANSWER)
            stream.synchronize(10_000)
            return int(device.download(buffer.view(0, 8), "u8")[0])


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "open"])
def test_physical_memory(soc: str, listed: bool) -> None:
    url = f"fake://{soc}?shared={shared_name('physical')}"
    with processes((give_physical, url, listed), (take_physical, url, listed)) as (giver, taker):
        number, pid = giver.hear(), taker.hear()
        if listed:
            giver.send(pid)
            assert giver.hear() == "allowed"
        taker.send(number)
        assert taker.end() == ANSWER
        giver.send("read")
        giver.end()


def test_physical_memory_over_a_fabric() -> None:
    url = f"fake://ascend910_9391?shared={shared_name('fabric')}"
    with processes((serve_fabric, url)) as (server,), processes((ask_fabric, url, server.hear())) as (client,):
        assert client.end() == ANSWER
        server.end()


@pytest.mark.parametrize("soc", CHIPS)
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "open"])
def test_memory_under_a_key(soc: str, listed: bool) -> None:
    url = f"fake://{soc}?shared={shared_name('key')}"
    with processes((give_key, url, listed), (take_key, url, listed)) as (giver, taker):
        key, pid = giver.hear(), taker.hear()
        if listed:
            giver.send(pid)
            assert giver.hear() == "allowed"
        taker.send(key)
        assert taker.end() == ANSWER
        giver.send("written")
        assert giver.end() == ANSWER
