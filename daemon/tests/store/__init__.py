"""Tests of the store: real directories, real files, real second processes."""
