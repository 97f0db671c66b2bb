"""A double of PyTorch and of the hardware below it, for tests on machines that have neither.

It does the fixed computation in plain Python, on a device that it merely names. FAKE_TORCH says what is to go wrong:
steps as "point=action", joined by "&". Points are import, available, init, count, properties, allocate, product,
gradient, synchronize; the actions are in `act`.
"""
import os
import signal
import sys
import time
import warnings

STEPS = dict(step.split("=", 1) for step in os.environ.get("FAKE_TORCH", "").split("&") if step)


def last_words(text):
    os.write(2, (text + "\n").encode())


def act(point):
    action, _, argument = STEPS.get(point, "").partition(":")
    if action == "raise":
        kind, _, message = argument.partition(":")
        kinds = {"OutOfMemoryError": cuda.OutOfMemoryError} if "cuda" in globals() else {}
        raise (kinds.get(kind) or getattr(__import__("builtins"), kind))(message)
    if action == "signal":
        number, _, text = argument.partition(":")
        if text:
            last_words(text)
        os.kill(os.getpid(), getattr(signal, number))
        time.sleep(60)
    if action == "warn":
        warnings.warn(argument)
    if action == "hang":
        time.sleep(3600)
    if action == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(3600)
    if action == "exit":
        os._exit(int(argument))
    if action == "flood":
        block = b"x" * 65535 + b"\n"
        for number in range(int(argument) * 16):
            os.write(1 + number % 2, block)
    if action == "daemon":
        daemon()
    if action == "report":
        write_to_report(argument.encode())
    if action == "run":
        exec(os.environ["FAKE_CODE"], {})
    if action == "kill-parent":
        os.kill(os.getppid(), getattr(signal, argument))
        time.sleep(3600)


def daemon():
    """A grandchild in a session of its own that keeps every pipe open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
    os.wait()


def write_to_report(data):
    for number in range(3, 1024):
        try:
            os.fstat(number)
            os.write(number, data)
        except OSError:
            pass


act("import")

from . import cuda, version

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.9.1+fake")
float32 = "float32"


def device(name):
    return name


class Tensor(object):
    def __init__(self, rows, device, requires_grad=False, backward=None):
        self.rows, self.device, self.requires_grad = rows, device, requires_grad
        self.grad, self.back = None, backward

    def matmul(self, other):
        act("product")
        product = Tensor(multiply(self.rows, other.rows), STEPS.get("product_device", self.device))
        if STEPS.get("product") == "wrong":
            product.rows[1][1] += 1.0
        transposed = [list(row) for row in zip(*other.rows)]

        def backward():
            doubled = [[2 * value for value in row] for row in product.rows]
            self.grad = Tensor(multiply(doubled, transposed), STEPS.get("gradient_device", self.device))
            if STEPS.get("gradient") == "wrong":
                self.grad.rows[0][0] = float("nan")

        product.back = backward
        return product

    def __mul__(self, other):
        rows = [[a * b for a, b in zip(*pair)] for pair in zip(self.rows, other.rows)]
        return Tensor(rows, self.device, backward=self.back)

    def sum(self):
        total = sum(sum(row) for row in self.rows)
        if STEPS.get("loss"):
            total = float(STEPS["loss"])
        return Tensor(total, self.device, backward=self.back)

    def backward(self):
        act("gradient")
        self.back()

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.rows, "cpu")

    def tolist(self):
        return self.rows

    def __float__(self):
        return float(self.rows)


def multiply(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def tensor(rows, dtype=None, device="cpu", requires_grad=False):
    act("allocate")
    return Tensor(rows, device, requires_grad)
