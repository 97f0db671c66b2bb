"""Tells whether this interpreter would find torch, without importing it. One line goes before it: FD = 5."""
import sys
sys.dont_write_bytecode = True
sys.path[:] = [entry for entry in sys.path if entry != ""]
import os
try:
    import importlib.util
    found = importlib.util.find_spec("torch")
    # A folder without __init__.py is no package that anybody installed.
    os.write(FD, b"1" if found is not None and found.origin is not None else b"0")
finally:
    os._exit(0)
