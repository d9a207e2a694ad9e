"""What compilers leave beside a device ELF: metadata, signatures and the layout of argument blocks.

One module or folder per producer; pure functions over text and bytes. Nothing here knows a device: launching is in
`runtime.launch.producers`. Source: the producers' own launchers, as public on GitHub.
"""
