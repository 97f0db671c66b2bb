"""The double's devices. ROCm builds of PyTorch use this module too."""
import os


class OutOfMemoryError(RuntimeError):
    pass


class Properties(object):
    def __init__(self, number):
        self.name = "Double of a GPU %d" % number
        self.total_memory = 8 << 30
        self.uuid = "00000000-0000-0000-0000-%012d" % number
        if os.environ.get("FAKE_HIP"):
            self.gcnArchName = "gfx942:sramecc+:xnack-"


def _act(point):
    import torch
    torch.act(point)


def device_count():
    _act("count")
    return int(os.environ.get("FAKE_GPUS", "0"))


def is_available():
    _act("available")
    return device_count() > 0


def init():
    _act("init")


def get_arch_list():
    return ["gfx942"] if os.environ.get("FAKE_HIP") else ["sm_80", "sm_90"]


def get_device_properties(number):
    _act("properties")
    return Properties(number)


def get_device_capability(number):
    return (9, 0)


def synchronize(device=None):
    _act("synchronize")
