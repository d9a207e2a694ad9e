"""Copies between host and device in cycles; free memory must come back. Arguments: cycles, bytes."""

import sys

import acl
import numpy as np

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST = 0, 1, 2
HBM, DDR = 1, 0


def check(what, ret):
    if ret != 0:
        sys.exit(f"{what} failed: {ret}")


def read_back(source, size, kind):
    array = np.ones(size, dtype=np.byte)
    if "bytes_to_ptr" in dir(acl.util):
        data = array.tobytes()
        check("memcpy", acl.rt.memcpy(acl.util.bytes_to_ptr(data), size, source, size, kind))
        return np.frombuffer(data, dtype=array.dtype)
    check("memcpy", acl.rt.memcpy(acl.util.numpy_to_ptr(array), size, source, size, kind))
    return array


def free_memory():
    found = []
    for attribute in (DDR, HBM):
        free, _total, ret = acl.rt.get_mem_info(attribute)
        check("get_mem_info", ret)
        found.append(free)
    return max(found)


def main():
    cycles, size = int(sys.argv[1]), int(sys.argv[2])
    check("init", acl.init())
    check("set_device", acl.rt.set_device(0))
    context, ret = acl.rt.create_context(0)
    check("create_context", ret)
    levels, blocks = [free_memory()], []
    for _ in range(cycles):
        host, ret = acl.rt.malloc_host(size)
        check("malloc_host", ret)
        check("memset", acl.rt.memset(host, size, 7, size))
        device, ret = acl.rt.malloc(size, 2)
        check("malloc", ret)
        blocks.append(device)
        check("memcpy", acl.rt.memcpy(device, size, host, size, HOST_TO_DEVICE))
        print(read_back(host, size, HOST_TO_HOST), read_back(device, size, DEVICE_TO_HOST))
        check("free_host", acl.rt.free_host(host))
        levels.append(free_memory())
    for block in blocks:
        check("free", acl.rt.free(block))
    levels.append(free_memory())
    falls = all(levels[number + 1] < levels[number] for number in range(cycles))
    print("falls", falls, "returns", levels[0] == levels[-1])
    check("destroy_context", acl.rt.destroy_context(context))
    check("reset_device", acl.rt.reset_device(0))
    check("finalize", acl.finalize())


if __name__ == "__main__":
    main()
