"""``npuhal sqe``: check and decode from the command line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from runtime.cli import main
from runtime.cli.sqe_send import SENDS
from tests.golden.vectors import DATA, sample

KERNEL = (
    "0000180023016745001000000000fe010090785634120000000000003c200000"
    "665544332211000000e5d4c3b2a1000000000000000000000000000000000000"
)
WAIT = "0700000023016745550100000000ff0058020000" + "00" * 44


def test_check_counts_files_and_total(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(DATA / name) for name in ("sqe_910B1.json", "api_950.json")]
    assert main(["sqe", "check", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    first, second = len(sample("sqe_910B1.json")), len(sample("api_950.json"))
    assert lines == [
        f"sqe_910B1.json: matched {first}/{first}",
        f"api_950.json: matched {second}/{second}",
        f"total: matched {first + second}/{first + second}",
    ]


def changed(tmp_path: Path, **changes: object) -> Path:
    entries = json.loads((DATA / "sqe_910_9391.json").read_text())
    entries[0].update(changes)
    path = tmp_path / "sqe_changed.json"
    path.write_text(json.dumps(entries))
    return path


def test_check_shows_what_differs_field_by_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = json.loads((DATA / "sqe_910_9391.json").read_text())[0]["sqe_hex"][0]
    flipped = (int.from_bytes(bytes.fromhex(row), "little") ^ 1 << 16).to_bytes(64, "little").hex()
    assert main(["sqe", "check", str(changed(tmp_path, sqe_hex=[flipped]))]) == 1
    out = capsys.readouterr().out
    assert "sqe_changed.json: matched 1/2" in out
    assert "block_dim: expected" in out
    assert out.endswith("total: matched 1/2\n")


def test_check_names_what_is_not_covered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "check", str(changed(tmp_path, task="TELEPORT"))]) == 1
    assert "not covered: TELEPORT (1)" in capsys.readouterr().out


def test_check_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "check", "--json", str(changed(tmp_path, task="TELEPORT"))]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["matched"], report["total"], report["not_covered"]) == (1, 2, {"TELEPORT": 1})


def test_check_refuses_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    assert main(["sqe", "check", str(path)]) == 2
    assert "neither a list of tasks" in capsys.readouterr().err
    assert main(["sqe", "check", str(tmp_path / "absent.json")]) == 2
    assert "absent.json: No such file" in capsys.readouterr().err


def test_decode_names_fields_values_and_meanings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "decode", "--chip", "910B1", KERNEL]) == 0
    out = capsys.readouterr().out
    assert "[0] KERNEL_AICORE: kernel_aic (RtFftsPlusKernelSqe)" in out
    assert "pc             0x112233445566  entry of the kernel" in out


def test_decode_wants_the_chip_and_names_the_one_that_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "decode", WAIT]) == 2
    caught = capsys.readouterr()
    assert "no chip is given" in caught.err
    assert "--chip ascend910b1 fits these entries best" in caught.err
    assert caught.out == ""


@pytest.mark.parametrize("source", [WAIT, f"  {WAIT}\n", bytes.fromhex(WAIT)])
def test_decode_reads_standard_input(
    source: str | bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = source.encode() if isinstance(source, str) else source
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["sqe", "decode", "--chip", "910B1", "-"]) == 0
    assert "never runs out" in capsys.readouterr().out


@pytest.mark.parametrize("chip", ["910b3", "950", "310p3"])
@pytest.mark.parametrize("name", ["NotifyRecord", "notify_record", "NOTIFY_RECORD"])
def test_encode_is_what_decode_reads(chip: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "encode", "--chip", chip, "--task", name, "notify_id=0x21", "task_id=7", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert entry["task"] == "NOTIFY_RECORD"
    assert entry["fields"]["notify_id"] == 0x21
    assert main(["sqe", "encode", "--chip", chip, "--task", name, "notify_id=33", "task_id=7"]) == 0
    assert capsys.readouterr().out == f"{entry['hex']}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["NotifyRecor", "notify_id=1"], "did you mean NotifyRecord"),
        (["NotifyRecord"], "NotifyRecord needs notify_id (int)"),
        (["NotifyRecord", "notify_id"], "'notify_id' is not field=value"),
        (["NotifyRecord", "notifyid=1"], "no field 'notifyid'"),
        (["NotifyRecord", "notify_id=one"], "notify_id=one: not a value of type int"),
        (["NotifyRecord", "notify_id=1", "bound=maybe"], "true or false"),
        (["NotifyRecord", "notify_id=0x1000000"], "notify_id"),
        (["MemcpyAsync", "kind=9999"], "not a value of type"),
        (["MemcpyAsync", "ub=3"], "cannot be written on the command line"),
    ],
)
def test_what_encode_refuses(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "encode", "--chip", "910b3", "--task", *words]) == 2
    assert said in capsys.readouterr().err


def test_encode_knows_every_task_and_the_list_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "encode", "--chip", "910b3", "--task", "list"]) == 0
    names = capsys.readouterr().out.split()
    assert len(names) > 70
    assert {"NotifyRecord", "MemcpyAsync"} <= set(names)


def test_decode_flags_what_is_invalid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "decode", "--chip", "910B1", WAIT[:-2] + "01"]) == 1
    assert "invalid: reserved bits are set: 504" in capsys.readouterr().out


def test_decode_shows_only_differences(capsys: pytest.CaptureFixture[str]) -> None:
    other = WAIT.replace("5802", "5902")
    assert main(["sqe", "decode", "--chip", "910B1", "--diff", WAIT, other]) == 0
    second = capsys.readouterr().out.split("[1]")[1].splitlines()
    assert [line.split()[0] for line in second[1:]] == ["field", "timeout"]
    assert "was 0x258" in second[2]


def test_decode_reads_a_ring_across_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = tmp_path / "ring.bin"
    rows = [WAIT.replace("6745", f"{number:02x}00") for number in range(4)]
    ring.write_bytes(bytes.fromhex("".join(rows)))
    arguments = ["sqe", "decode", "--chip", "910B1", "--json", str(ring), "--head", "3", "--tail", "1"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(entry["position"], entry["fields"]["task_id"]) for entry in found] == [(3, 3), (0, 0)]


def test_decode_reads_hex_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "entry.hex"
    path.write_text(f"0x{WAIT[:64]}\n{WAIT[64:]}\n")
    assert main(["sqe", "decode", "--chip", "910B1", str(path)]) == 0
    assert "NOTIFY_WAIT" in capsys.readouterr().out


TRACE_LINE = f"00012 [t0] halSqTaskSend(devId=0, info=0x7f) = 0  | type=0 sq=1 num=2 pos=0 sqe0={KERNEL} sqe1={WAIT}"
TRACES = {
    "call.log": f"00011 [t0] halMemAlloc() = 0\n{TRACE_LINE}\n",
    "call.jsonl": "\n".join(
        json.dumps(call)
        for call in (
            {"name": "halMemAlloc", "payload": ""},
            {"name": "halSqTaskSend", "payload": KERNEL + WAIT},
            {"name": "halCqReportRecv", "payload": "00" * 32},
        )
    ),
}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("packed", [False, True])
def test_decode_reads_traces(name: str, packed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = TRACES[name].encode()
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(data) if packed else data)
    assert main(["sqe", "decode", "--chip", "910B1", "--json", str(path)]) == 0
    assert [entry["task"] for entry in json.loads(capsys.readouterr().out)] == ["KERNEL_AICORE", "NOTIFY_WAIT"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["xyz"], "neither hex text nor a file"),
        (["00" * 63], "63 bytes are not whole entries of 64"),
        ([KERNEL, "--head", "5"], "--head 5 is outside the ring of 1 entries"),
        ([KERNEL, "--chip", "Ascend9"], "Ascend9"),
    ],
)
def test_decode_refuses_bad_input(arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "decode", *arguments]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(("chip", "number"), [("910b3", "task_id"), ("ascend950", "serial()")])
def test_send_prints_the_functions_that_are_compiled(
    capsys: pytest.CaptureFixture[str], chip: str, number: str
) -> None:
    assert main(["sqe", "send", "--chip", chip, "--shape", "all"]) == 0
    text = capsys.readouterr().out
    assert text.count("def try_send(") == len(SENDS)
    compile(text, "printed", "exec")
    assert main(["sqe", "send", "--chip", chip]) == 0
    launch = capsys.readouterr().out
    assert launch in text
    assert f"pack(buffer, 0, run_0, {number}, run_1, args, run_2)" in launch


def test_send_over_ub_asks_for_the_head_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sqe", "send", "--chip", "ascend950", "--ub"]) == 0
    assert "run_0 if (ring.allocations + 1) % 64 else asking_0" in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "message"), [
    (["--chip", "910b3", "--shape", "nothing"], "known are launch"),
    (["--chip", "ascend910a"], "takes commands"),
])  # fmt: skip
def test_send_says_what_it_cannot_print(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["sqe", "send", *arguments]) == 2
    assert message in capsys.readouterr().err
