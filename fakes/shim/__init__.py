"""The fake behind a libascend_hal.so: programs in C, C++ and any Python call it as they call the driver.

`exports` says which functions the library has and what their pointers lead to, `build` compiles it (`npuhal shim
driver`). A program that loads it starts a server with its first call (`server`, `npuhal serve`): the machine lives
there, and calls pass through shared memory (`shim.h`). May use all of `fakes`; nothing else of `fakes` knows it.
"""
