"""What runs programs that a model wrote.

`launch.py` starts a worker from outside. `zygote.py`, `cell.py`, `program.py` and `kernel.py` run
inside it: they use the standard library alone and import each other relatively, because inside the
jail this folder is all there is of paretopo.

```
 python_interpreter.py ── launch.py ──► bwrap: namespaces, read-only system
                                          └─ zygote.py: modules loaded, waits for programs
                                               └─ cell.py: further namespaces, watches the limits
                                                    └─ program.py: without rights
```
"""
