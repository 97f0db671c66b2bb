"""The worker: imports the image's torch, runs the fixed computation, and tells the supervisor what it saw.

It runs in the image's own interpreter and environment, so it uses nothing but the standard library and torch, and only
syntax that Python 3.6 has. It judges nothing: the supervisor compares the values and picks the code. One line goes
before it when it is sent: CONFIG = {"fd": 5, "device": "cuda:0"}.
"""
import sys

# Nothing is to change in the image, compiled files included.
sys.dont_write_bytecode = True
# The working directory must not stand in for an installed package: this comes before all other imports (os is no
# exception, the interpreter has imported it itself).
sys.path[:] = [entry for entry in sys.path if entry != ""]
import os


def drop_working_directory():
    """An empty entry of PYTHONPATH is the working directory too, made absolute by the time it is seen here."""
    written = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    try:
        here = os.getcwd()
    except OSError:
        return
    if "" in written and here not in written:
        sys.path[:] = [entry for entry in sys.path if entry != here]


drop_working_directory()
import json

def is_shadowed():
    """Whether an application that starts Python here would import something else than the installed torch.

    A folder without __init__.py does so only where no installed package has the name, so it is none.
    """
    try:
        here = os.getcwd()
        if here in sys.path:
            return False
        names = os.listdir(here)
    except OSError:
        return False
    if os.path.isfile(os.path.join(here, "torch", "__init__.py")):
        return True
    return any(name == "torch.py" or name.startswith("torch.") and name.endswith(".so") for name in names)


FD = CONFIG["fd"]
DEVICE = CONFIG["device"]
WANTS_GPU = DEVICE != "cpu"
MAX_TEXT = 4000
MAX_DEVICES = 64


def clean(text):
    """Text that every JSON reader takes, cut at a word so that half a secret does not escape its replacement."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) > MAX_TEXT:
        words = text[:MAX_TEXT].rsplit(None, 1)
        text = words[0] if len(words) > 1 else "\u2026"
    return text


def tell(kind, content):
    data = (json.dumps({kind: content}) + "\n").encode("ascii")
    while data:
        data = data[os.write(FD, data):]


def finish(kind, content):
    tell("result", {kind: content})
    # Exit handlers of the image's packages may hang or crash; everything that matters has been said.
    os._exit(0)


def show_traceback(error):
    """Where it happened goes to stderr alone: a report holds no traceback, but whoever reads the log needs it."""
    import traceback
    traceback.print_exception(type(error), error, error.__traceback__)
    sys.stderr.flush()


def describe(error):
    optional(lambda: show_traceback(error))
    try:
        message = str(error)
    except BaseException:
        message = ""
    return {"type": clean(type(error).__name__), "message": clean(message)}


def fail(reason, error=None):
    finish("failed", {"reason": reason, "error": error})


def optional(read):
    """A fact that older or odd builds lack is no reason to fail."""
    try:
        return read()
    except BaseException:
        return None


def version_text(owner, name):
    value = getattr(owner, name, None)
    return None if value is None else clean(str(value))


def libc():
    found = optional(lambda: os.confstr("CS_GNU_LIBC_VERSION"))
    if found:
        return clean(found)
    names = optional(lambda: os.listdir("/lib")) or []
    return "musl" if any(name.startswith("ld-musl-") for name in names) else None


def catch_warnings():
    """With a driver that is too old, is_available() only warns; and a warning is nothing for a log here."""
    import warnings
    kept = []

    def keep(message, category, filename, lineno, file=None, line=None):
        if len(kept) < 20:
            kept.append({"type": clean(category.__name__), "message": clean(str(message))})

    warnings.showwarning = keep
    return kept


def import_torch():
    tell("stage", "import")
    try:
        import torch
    except BaseException as error:
        fail("missing" if is_missing(error) else "error", describe(error))
    if not hasattr(torch, "__version__") or not hasattr(torch, "tensor"):
        message = "the torch that was imported has no __version__ or no tensor: a leftover folder or another package"
        fail("error", {"type": "ImportError", "message": message})
    return torch


def is_missing(error):
    if not isinstance(error, ImportError) or getattr(error, "name", None) != "torch":
        return False
    try:
        import importlib.util
        return importlib.util.find_spec("torch") is None
    except BaseException:
        return False


def build_facts(torch):
    version = getattr(torch, "version", None)
    return {
        "version": version_text(torch, "__version__"),
        "cuda_build": version_text(version, "cuda"),
        "hip_build": version_text(version, "hip"),
        "gpu_available": None,
        "visible_device_count": None,
        "arch_list": None,
        "devices": None,
    }


def check_device(torch, facts, warned):
    tell("stage", "backend")
    if facts["cuda_build"] is None and facts["hip_build"] is None:
        fail("absent")
    tell("stage", "device")
    ask_availability(torch, facts, warned)
    index = int(DEVICE.split(":")[1])
    if facts["visible_device_count"] <= index:
        fail("index")
    facts["arch_list"] = optional(lambda: [clean(str(name)) for name in torch.cuda.get_arch_list()])
    facts["devices"] = []
    for number in range(min(facts["visible_device_count"], MAX_DEVICES)):
        try:
            facts["devices"].append(device_facts(torch, number, facts["hip_build"] is not None))
        except BaseException as error:
            if number == index:
                fail("error", describe(error))
    tell("pytorch", facts)


def ask_availability(torch, facts, warned):
    try:
        facts["gpu_available"] = bool(torch.cuda.is_available())
        facts["visible_device_count"] = max(0, int(torch.cuda.device_count()))
        # Where no device is usable, this says why; where one is, it starts the backend as any first use would.
        torch.cuda.init()
    except BaseException as error:
        facts["gpu_available"] = False
        tell("pytorch", facts)
        fail("unavailable", describe(error))
    usable = facts["gpu_available"] and facts["visible_device_count"] > 0
    facts["gpu_available"] = usable
    tell("pytorch", facts)
    if not usable:
        fail("unavailable", warned[-1] if warned else None)


def device_facts(torch, number, is_rocm):
    properties = torch.cuda.get_device_properties(number)
    if is_rocm:
        architecture = version_text(properties, "gcnArchName")
        # The features behind the colon ("gfx942:sramecc+:xnack-") are no part of the architecture's name.
        architecture = architecture and architecture.split(":")[0]
    else:
        architecture = "sm_%d%d" % tuple(torch.cuda.get_device_capability(number))
    return {
        "index": number,
        "name": clean(str(properties.name)),
        "architecture": architecture,
        "memory_bytes": optional(lambda: int(properties.total_memory)),
        "uuid": optional(lambda: clean(str(properties.uuid))),
    }


def compute(torch):
    tell("stage", "allocate")
    device = torch.device(DEVICE)
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float32, device=device, requires_grad=True)
    b = torch.tensor([[2.0, 0.0], [1.0, 2.0]], dtype=torch.float32, device=device)
    tell("stage", "product")
    product = a.matmul(b)
    loss = (product * product).sum()
    tell("stage", "gradient")
    loss.backward()
    tell("stage", "synchronize")
    if WANTS_GPU:
        torch.cuda.synchronize(device)
    return {
        "product": numbers(product),
        "gradient": numbers(a.grad),
        # As text: the standard's JSON has no NaN.
        "loss": repr(float(loss.detach().cpu())),
        "product_device": clean(str(product.device)),
        "gradient_device": clean(str(a.grad.device)),
    }


def numbers(tensor):
    return [[repr(float(value)) for value in row] for row in tensor.detach().cpu().tolist()]


def is_out_of_memory(torch, error):
    kind = getattr(getattr(torch, "cuda", None), "OutOfMemoryError", None)
    return isinstance(error, MemoryError) or (isinstance(kind, type) and isinstance(error, kind))


def main():
    tell("runtime", {"python_version": clean(sys.version.split()[0]), "libc": libc(), "torch_shadowed": is_shadowed()})
    if sys.version_info < (3, 6):
        fail("error", {"type": "UnsupportedPython", "message": "the interpreter is older than Python 3.6"})
    warned = catch_warnings()
    torch = import_torch()
    facts = build_facts(torch)
    tell("pytorch", facts)
    if WANTS_GPU:
        check_device(torch, facts, warned)
    try:
        result = compute(torch)
    except BaseException as error:
        fail("memory" if is_out_of_memory(torch, error) else "error", describe(error))
    finish("computed", result)


try:
    if hasattr(os, "set_inheritable"):
        # Helpers that packages start must not hold the supervisor's descriptor.
        os.set_inheritable(FD, False)
    main()
except BaseException as problem:
    fail("error", describe(problem))
