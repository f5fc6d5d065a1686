"""The sandbox in which programs that a model wrote run.

`launch.py` starts a worker from outside. `zygote.py`, `supervisor.py`, `program.py` and `kernel.py`
run inside it. They use only the standard library and import each other relatively, because inside
the sandbox this folder is the only part of paretopo.

```
 python_interpreter.py ── launch.py ──► bwrap: namespaces, read-only system
                                          └─ zygote.py: modules loaded, waits for programs
                                               └─ supervisor.py: more namespaces, watches the limits
                                                    └─ program.py: without rights
```
"""
