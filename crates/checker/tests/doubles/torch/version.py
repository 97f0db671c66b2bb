"""Which backend the double was "built" for."""
import os

cuda = os.environ.get("FAKE_CUDA") or None
hip = os.environ.get("FAKE_HIP") or None
