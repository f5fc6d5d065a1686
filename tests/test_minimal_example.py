"""examples/minimal.py fits a page, is self-contained, and learns."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "minimal.py"
ROW = re.compile(r"^(.+?) +([\d.]+)% -> +([\d.]+)% +([\d.]+) -> ([\d.]+)$", re.MULTILINE)
MEMBER = re.compile(r"^ *([\d.]+)% with ([\d.]+)$", re.MULTILINE)


@pytest.mark.long
def test_it_learns_to_be_right_and_to_call_less(tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not [*tmp_path.iterdir()]  # it leaves nothing behind
    rows = {name: [float(value) for value in values] for name, *values in ROW.findall(done.stdout)}
    assert list(rows) == ["needs no call", "needs one call", "needs two calls", "all"]
    for before, after, *_ in rows.values():
        assert before < 25
        assert after > 90
    _, _, called, calls = rows["all"]
    assert calls < called - 0.4
    by_kind = [calls for *_, calls in rows.values()][:3]
    assert by_kind[0] < 0.6 < by_kind[1] < 1.4 < by_kind[2] < 2.3

    front = [tuple(map(float, member)) for member in MEMBER.findall(done.stdout)]
    assert len(front) >= 3
    assert front == sorted(front)  # more calls buy accuracy
    assert front[0][1] == 0.0
