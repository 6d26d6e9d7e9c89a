"""What the crash tests stand on: real daemons on real directories, a raw client, and dumps of every table.

======== ===========================================================================================
home     a store's directories, and the daemon that runs on them
wire     a client of a few lines over a socket; every reply it reads is held against the protocol
dumps    every table of a store as data, and what differs between two of them
control  a clock and a disk that the test owns, shared with a daemon that ``launcher.py`` started
======== ===========================================================================================

Nothing here waits by the clock: a start ends with the daemon's own word that it is ready, an end with the
process's, and a reply with its newline or the end of the connection.
"""
