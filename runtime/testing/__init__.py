"""A pytest plug-in: devices as fixtures, on the fake by default, over many schedules if asked.

    def test_add(npu):
        x = npu.upload(numpy.ones(8, "f4"))
        ...

Options: --npu-url, --npu-seed, --npu-schedules. Marks: npu(soc, **options), npu_faults.
"""
