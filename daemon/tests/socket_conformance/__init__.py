"""Requests of the protocol's vectors and transcripts, sent to the real daemon over its real sockets."""
