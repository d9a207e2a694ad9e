"""Descriptions of recorded work for engines: kernels, copies, value writes, media, links."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chips import tasks as t
from chips.programs.rdma import ProducerIndexModify
from chips.verify.recorded.machine import Inputs, Machine, constants
from npuhal.records import replace

CONTEXT_BLOCK = "ffts_context_128B"
"""Name of the block with a mix kernel's context; its address counts as an input of the vector."""

_COPY_KINDS = {1: t.CopyKind.HOST_TO_DEVICE, 2: t.CopyKind.DEVICE_TO_HOST, 3: t.CopyKind.SDMA}
_MEDIA_BODY = 56
_MODEL_STREAM = 300  # whose counter RDMA tasks of the recorded model read
_UB_WQE = bytes(range(0x80, 0xC0))


def core(i: Inputs) -> dict[str, Any]:
    """Fields that all AI-core kernels share."""
    return {
        "pc": i["pc_addr"],
        "args": i["args_addr"],
        "block_dim": i["block_dim"],
        "args_size": i.get("args_size", constants()["default_args_size"]),
        "timeout_us": i.get("timeout_us", i.get("timeout_us_in", 0)),
        "schem_mode": i.get("schem_mode", 0),
        "prefetch": i.get("prefetch_cnt", i.get("prefetch_cnt1", 0)),
        "min_stack_size": i.get("min_stack_size", 0),
        "qos": i.get("qos", 0),
        "part_id": i.get("part_id", 0),
        "flags": i.get("dump_flag", 0),
        "group_dim": i.get("group_dim", 0),
        "group_block_dim": i.get("group_block_dim", 0),
        "simt_memory": i.get("simt_dcu_sm_size", t.SIMT_MEMORY_BYTES),
    }


def _mix(i: Inputs, at: Machine) -> t.Task:
    return t.MixKernel(
        **core(i),
        pc2=i["pc_addr2"],
        prefetch2=i.get("prefetch_cnt2", 0),
        ratio=i["task_ration"],
        mix=t.MixKind(i["mix_type"]),
        context=i.get(CONTEXT_BLOCK, 0),
    )


def _aicpu(i: Inputs, at: Machine) -> t.Task:
    return t.AicpuKernel(
        so_name=i["so_name_addr"],
        func_name=i["func_name_addr"],
        args=i["args_addr"],
        block_dim=i["block_dim"],
        head_offset=i.get("head_param_offset", 0),
        kind=i["aicpu_kernel_type"],
        flags=i["kernel_flag"],
        timeout_us=i["timeout_us"],
    )


def _ffts(i: Inputs, at: Machine) -> t.Task:
    return t.FftsPlus(
        contexts=i["desc_align_buf"],
        total_contexts=i["total_context_num"],
        ready_contexts=i["ready_context_num"],
        preload_contexts=i["preload_context_num"],
        sub_type=i["sub_type"],
    )


def _memcpy(i: Inputs, at: Machine) -> t.Task:
    kind = _COPY_KINDS.get(i["kind"]) or t.CopyKind(i["kind"])
    if "copy_type_out" in i:
        kind = t.CopyKind(i["copy_type_out"])
    config = None
    if i.get("has_cfg"):
        config = t.CopyConfig(qos=i["qos"], part_id=i["part_id"], cross_device=bool(i["d2d_cross"]))
    fixed = constants()
    job = t.UbJob(**fixed["ub_job"], wqe=_UB_WQE)
    if i["bind_flag"]:
        job = replace(job, pi=fixed["ub_job_bound_pi"])
    return t.MemcpyAsync(
        src=i.get("src_final", i["src"]),
        dst=i.get("dst_final", i["dst"]),
        size=i["size"],
        kind=kind,
        config=config,
        data_type=i.get("copy_data_type", 0),
        offsets=(i["src_offset"], i["dst_offset"]) if i.get("src_offset") or i.get("dst_offset") else None,
        kernel_convert=at.chip.generation == "v100",
        **fixed["converted_copy"],
        ub=job,
    )


def _cmo(i: Inputs, at: Machine) -> t.Task:
    return t.Cmo(
        op_code=i["op_code"],
        src=i["src"],
        length=i["length_inner"],
        cmo_type=i["cmo_type"],
        logic_id=i["logic_id"],
        qos=i["qos"],
        part_id=i["part_id"],
        pmg=i["pmg"],
        num_inner=i["num_inner"],
        num_outer=i["num_outer"],
        stride_inner=i["stride_inner"],
        stride_outer=i["stride_outer"],
    )


def _barrier(i: Inputs, at: Machine) -> t.Task:
    count = i["logic_id_num"]
    return t.Barrier(ids=tuple((i["cmo_type0"] + n, i[f"cmo_id{n}"]) for n in range(count)))


def _write_value(i: Inputs, at: Machine) -> t.Task:
    # on a bound stream the recording filled the value with one byte, elsewhere with counting ones
    step = 0 if i["bind_flag"] else 1
    data = bytes((i["value_byte0"] + step * n) & 0xFF for n in range(i["value_len"]))
    return t.WriteValue(addr=i["addr"], size_code=i["aw_size"], data=data, report=t.Report(i["wr_cqe_flag"]))


def _mem_wait(i: Inputs, at: Machine) -> t.Task:
    return t.MemWaitValue(
        addr=i["addr"],
        value=i["value"],
        flag=i["flag"],
        size_code=i["aw_size"],
        function=i["fc_mem2"],
        function_bytes=i["fc_size2"],
        flag_addr=i["write_value_addr"],
        pause_addr=i["prof_disable_addr"],
        sq_id_addr=i["sq_id_mem_addr"],
    )


def _rdma_doorbell(i: Inputs, at: Machine) -> t.Task:
    return t.RdmaDoorbell(
        index=i["db_index"],
        info=i["db_info"],
        sequence=i["task_seq"],
        exec_times_addr=at.exec_times(_MODEL_STREAM),
    )


def _pi_modify(i: Inputs, at: Machine) -> t.Task:
    return t.RdmaPiValueModify(
        addresses=(i["pi_addr0"], i["pi_addr1"]),
        function=at.facts.get("pi_modify", 0),
        function_bytes=ProducerIndexModify.program().size_bytes,
    )


def _stars_common(i: Inputs, at: Machine) -> t.Task:
    return t.StarsCommon(sqe=_media(i["user_sqe_type"], i["user_body_fill"]))


def _multiple(i: Inputs, at: Machine) -> t.Task:
    command = t.DvppPart(sqe=_media(i["dvpp_type"], i["dvpp_body_fill"]), position=i["aicpu_task_pos"])
    kernel = t.AicpuPart(**at.facts["part"], block_dim=i["aicpu_block_dim"])
    return t.MultipleTask(parts=(command, kernel))


def _media(sqe_type: int, fill: int) -> bytes:
    return bytes([sqe_type]) + bytes(7) + bytes([fill]) * _MEDIA_BODY


def _ccu(i: Inputs, at: Machine) -> t.Task:
    part = t.CcuPart(
        mission_id=i["mission_id"],
        die_id=i["die_id"],
        timeout_s=i["timeout"],
        start_id=i["inst_start_id"],
        instruction_count=i["inst_cnt"],
        key=i["key"],
        args=tuple(i["arg0"] + n for n in range(constants()["ccu_args"])),
        short=i["arg_size"] == 1,
    )
    return t.CcuLaunch(part=part)


def _ub_doorbell(i: Inputs, at: Machine) -> t.Task:
    jobs = tuple(
        t.UbJob(die_id=i[f"die{n}"], function_id=i[f"func{n}"], jetty_id=i[f"jetty{n}"], pi=i[f"pi{n}"])
        for n in range(i["db_num"])
    )
    return t.UbDoorbell(jobs=jobs)


def _direct_send(i: Inputs, at: Machine) -> t.Task:
    size = i["wqe_size"]
    job = t.UbJob(
        die_id=i["die_id"], function_id=i["function_id"], jetty_id=i["jetty_id"], wqe=bytes(range(64 * (size + 1)))
    )
    return t.DirectSend(job=job, wqe_size=size)


MAKERS: dict[str, Callable[[Inputs, Machine], t.Task]] = {
    "KERNEL_AICORE": lambda i, at: t.AicKernel(**core(i)),
    "KERNEL_AIVEC": lambda i, at: t.AivKernel(**core(i)),
    "KERNEL_MIX": _mix,
    "KERNEL_AICPU": _aicpu,
    "FFTS_PLUS": _ffts,
    "MEMCPY_ASYNC": _memcpy,
    "MEMCPY_ASYNC_PTR": lambda i, at: t.MemcpyDescriptor(descriptor=i["addr_info"]),
    "MEMCPY_DSA_SQE_UPDATE": lambda i, at: t.SqeUpdate(
        src=i["src"],
        size=i["size"],
        target_sq=i["sq_id_target"],
        target_position=i["pos_target"],
        ub=t.UbJob(),
    ),
    "CMO": _cmo,
    "CMO_ADDR": lambda i, at: t.CmoDescriptor(descriptor=i["cmo_addr_info"], op_code=i["op_code"]),
    "BARRIER": _barrier,
    "WRITE_VALUE": _write_value,
    "WRITE_VALUE_PTR": lambda i, at: t.WriteValuePointer(pointer=i["ptr_addr"], report=t.Report(i["wr_cqe_flag"])),
    "MEM_WRITE_VALUE": lambda i, at: t.MemWriteValue(addr=i["addr"], value=i["value"], size_code=i["aw_size"]),
    "MEM_WAIT_VALUE": _mem_wait,
    "UPDATE_ADDRESS": lambda i, at: t.UpdateAddress(addr=i["addr"], length=i["len"]),
    "RDMA_DB_SEND": _rdma_doorbell,
    "RDMA_PI_VALUE_MODIFY": _pi_modify,
    "STARS_COMMON": _stars_common,
    "MULTIPLE_TASK": _multiple,
    "CCU_LAUNCH": _ccu,
    "UB_DB_SEND": _ub_doorbell,
    "DIRECT_SEND": _direct_send,
}
"""Name of a recorded task -> description."""
