"""Studies whose trainings end as a test wants them to."""

from types import SimpleNamespace

import numpy as np

from paretopo_lab.study import plan as plans
from paretopo_lab.study.analysis import Results

SEEDS = 12


def make_results(ends, switches=None, ablations=()):
    """Make a study whose runs end with (hypervolume, accuracy, calls) and a little noise."""
    methods = list(dict.fromkeys(method for _, method in ends if method not in ablations))
    tasks = list(dict.fromkeys(task for task, _ in ends))
    plan = plans.from_table(
        {
            "study": {"methods": methods, "seeds": SEEDS}
            | ({"ablations": list(ablations), "ablation_tasks": tasks} if ablations else {}),
            "tasks": {task: {} for task in tasks},
            "switches": switches or {},
        },
        tables={task: SimpleNamespace(about=task) for task in tasks},
    )
    rng = np.random.default_rng(0)
    records = {}
    for cell in plan.cells():
        share, accuracy, calls = np.array(ends[cell.task, cell.method]) + 1e-4 * rng.random(3)
        row = {"hypervolume": share, "accuracy": accuracy, "cost": calls, "economy": 1 - calls / 5}
        courses = {name: [value, value] for name, value in (row | {"preference": share}).items()}
        records[cell] = {"evaluations": {**courses, "cost": [4.0, calls], "step": [0, 9]}}
    return Results(plan, records)


ENDS = {
    ("free", "recommended"): (0.9, 0.70, 1.2),
    ("free", "paper"): (0.8, 0.65, 1.4),
    ("free", "accuracy_only"): (0.5, 0.70, 3.0),
    ("free", "grpo"): (0.95, 0.71, 1.1),
    ("lucky", "recommended"): (0.9, 0.70, 1.2),
    ("lucky", "paper"): (0.1, 0.45, 0.1),
    ("lucky", "accuracy_only"): (0.5, 0.70, 3.0),
    ("lucky", "grpo"): (0.2, 0.50, 0.2),
}
