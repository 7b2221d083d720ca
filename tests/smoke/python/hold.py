"""A process that opens a session and holds it until it is killed.

usage: python hold.py COMPONENT ROOT ID
"""

import sys
import time

from annals import load, record
from holder import this_process

component, root, session = sys.argv[1:]
annals = load(component)(root, lambda _name: lambda *_: None)
annals.call("configure", this_process(), record(out_of_band_types=[], strict=False), [("root", "/annals")])
handle, _ = annals.call("open", session, "continue")
print("held", flush=True)
while True:
    time.sleep(1)
    annals.call("renew")
