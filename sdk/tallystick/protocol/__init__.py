"""The wire, typed: what the daemon and its clients share, so that the two ends cannot drift apart.

From the bytes inwards: `ijson` reads strict JSON, `envelope` finds the operation and its typed arguments,
`registry` says what each operation is, `arguments` and `records` hold their shapes, `shapes` the scalars,
`problems` what goes wrong, `canonical` and `digests` what is signed and compared, `limits` every number.

Data and pure functions only: no socket, no file, no clock, no randomness. Nothing is imported here, so that a
client pays for what it uses.
"""
