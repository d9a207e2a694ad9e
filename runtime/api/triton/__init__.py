"""Behind `runtime.triton`: the driver protocol of Triton-Ascend, and its interpreter as the body of fake kernels.

Only `installing` imports Triton, and only when it is called; the other modules get what they need of it handed in.
"""
