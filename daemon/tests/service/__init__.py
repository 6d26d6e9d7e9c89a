"""The daemon as a whole: real processes, or its life in this process, over real sockets and real files."""
