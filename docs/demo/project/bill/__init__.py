"""Splits bills. One of its tests fails, for a reason that is easy to overlook: see ``split``."""
