"""Loads a composed store component in Python: compile it, grant it one directory, link an observer."""

from wasmtime import Engine, Store, WasiConfig
from wasmtime.component import Component, Linker, Record, Variant

STORE = "annals:session/store@0.1.0"
LOG = "annals:session/log@0.1.0"
OBSERVER = "annals:session/observer@0.1.0"


class Refused(Exception):
    """A call that failed; `error` is the record."""

    def __init__(self, error):
        super().__init__(error.message)
        self.error = error


def record(**fields):
    """A WIT record; `first_seq` stands for `first-seq`."""
    made = Record()
    for name, value in fields.items():
        setattr(made, name.replace("_", "-"), value)
    return made


def outcome(value):
    """The payload of a `result`, which arrives tagged only where both sides are of one Python type."""
    tag = "ok"
    if isinstance(value, Variant) and value.tag in ("ok", "err"):
        tag, value = value.tag, value.payload
    elif isinstance(value, Record) and hasattr(value, "reason") and hasattr(value, "code"):
        tag = "err"
    if tag == "err":
        raise Refused(value)
    return value


class Instance:
    """A fresh instance whose only directory is `root`, at the guest path `/annals`."""

    def __init__(self, engine, component, root, observer):
        linker = Linker(engine)
        linker.add_wasip2()
        with linker.root() as top, top.add_instance(OBSERVER) as functions:
            for name in ("created", "appended", "flushed", "disposed"):
                functions.add_func(name, observer(name))
        wasi = WasiConfig()
        wasi.preopen_dir(root, "/annals")
        self.store = Store(engine)
        self.store.set_wasi(wasi)
        self.instance = linker.instantiate(self.store, component)

    def call(self, name, *arguments, interface=STORE):
        """Call a function of an interface; an error record is raised as `Refused`."""
        interface = self.instance.get_export_index(self.store, interface)
        index = self.instance.get_export_index(self.store, name, interface)
        return outcome(self.instance.get_func(self.store, index)(self.store, *arguments))

    def rule(self, name, *arguments):
        """Call a function of the interface `log`."""
        return self.call(name, *arguments, interface=LOG)

    def session(self, name, handle, *arguments):
        """Call a method of the resource `session`."""
        return self.call(f"[method]session.{name}", handle, *arguments)


def load(path):
    """Compile the component once; a function that makes instances of it."""
    engine = Engine()
    component = Component.from_file(engine, path)
    return lambda root, observer: Instance(engine, component, root, observer)
