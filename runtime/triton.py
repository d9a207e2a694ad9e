"""npuhal as the driver of Triton-Ascend: `@triton.jit` functions run on its devices, without torch.

>>> import runtime.triton
>>> runtime.triton.install("fake://ascend910b3", interpret=True)
>>> add[(8,)](x, y, out, n, BLOCK=128)          # a @triton.jit function; x, y, out from device.upload or device.empty
>>> runtime.triton.uninstall()

`npuhal run --triton [--interpret] SCRIPT` does the same for a script. Importing this module does not import Triton;
`install` does. Kernels that Triton has compiled already need neither: `device.load_triton`.
"""

from runtime.api.triton.installing import current_device, install, installed, stream, uninstall

__all__ = ["current_device", "install", "installed", "stream", "uninstall"]
