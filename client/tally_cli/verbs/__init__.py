"""The verbs of ``tally``, one module a family. Each is loaded when one of its verbs is called."""
