"""The verbs of ``tally``, those of a family of operations in a module of its name.

Such a module also says how `tally show` asks for the family's objects (``SHOWN``). Verbs that belong to no
family have modules of their own. Each module is loaded when one of its verbs is called.
"""
