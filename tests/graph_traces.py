"""Small PyTorch traces made by hand: stream captures, and graphs replayed on the device."""

import json


class Host:
    """Writes a trace: calls one after another on a thread, scopes around them."""

    def __init__(self):
        self.events, self.now, self.ids = [], 0, 0

    def add(self, cat, name, tid=7, **args):
        self.ids += 1
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": self.now, "dur": 1,
            "args": {"correlation": self.ids, **args}})  # fmt: skip
        self.now += 10
        return self.ids

    def launch(self, name):
        return self.add("cuda_runtime", "hipLaunchKernel", kernel=name)

    def device(self, name, correlation, cat="kernel"):
        self.now += 10
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 3, "ts": self.now, "dur": 5,
            "args": {"device": 0, "stream": 3, "correlation": correlation}})  # fmt: skip

    def within(self, cat, name, *launches, **args):
        start = self.now
        self.now += 1
        for launch in launches:
            launch()
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 7, "ts": start,
            "dur": self.now - start, "args": args})  # fmt: skip
        self.now += 1

    def begin(self):
        self.add("cuda_runtime", "hipStreamBeginCapture")

    def end(self):
        self.add("cuda_runtime", "hipStreamEndCapture")

    def capture(self, *names, dims=None, module=None):
        """Capture one operator of these kernels, inside a module."""

        def op():
            arguments = {} if dims is None else {"Input Dims": dims}
            self.within("cpu_op", "aten::mm", *[lambda name=name: self.launch(name) for name in names], **arguments)

        self.begin()
        self.within("python_function", f"nn.Module: {module}", op) if module else op()
        self.end()
        return self

    def replay(self, *names):
        correlation = self.add("cuda_runtime", "hipGraphLaunch")
        for name in names:
            self.device(name, correlation, "gpu_memcpy" if name.startswith("Memcpy") else "kernel")
        return self

    def write(self, path):
        """Write the trace and return its path."""
        path.write_text(json.dumps({"traceEvents": self.events}))
        return path
