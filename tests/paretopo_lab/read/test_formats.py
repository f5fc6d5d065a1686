"""Logs of other programs, in the schema that their writers have.

The records are shortened from those that lm-eval 0.4.13, inspect-ai 0.3.285, verifiers 0.4.0,
tensorboard 2.21.0 and wandb 0.31.0 write.
"""

import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from support.run_stories import tell

from paretopo.cli import main
from paretopo.records.schema import DataError
from paretopo_lab.read.logs import read_logs


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(*paths):
    """Return the only log of some files."""
    [log] = read_logs([Path(path) for path in paths])
    return log


def compare(capsys, files, *objectives, by=()):
    words = [*map(str, files), *(f"--objective={one}" for one in objectives)]
    status = main(["compare", *words, *(f"--by={one}" for one in by), "--json"])
    out, error = capsys.readouterr()
    assert status == 0, error
    return json.loads(out)


def means(found):
    """Return the means of each model by its name."""
    return {one["name"]: list(one["mean"].values()) for one in found["models"]}


# ---- paretopo ------------------------------------------------------------------------------------


def test_questions_of_runs_are_compared(tmp_path, capsys):
    runs = [tell(tmp_path, seed=0), tell(tmp_path, seed=1), tell(tmp_path, recipe="paper")]
    for run, more in zip(runs, (0.0, 1.0, 0.5), strict=True):
        run.update_manifest(files={"task.held_out": "one file"})
        for step in (0, 9):
            measured = {f"q{at}": {"correct": 1.0, "calls": at + step + more} for at in range(8)}
            run.write_questions(step, measured | {"other": {"correct": 0.0, "calls": None}})
    files = [run.path / "questions.json" for run in runs]
    found = compare(capsys, files, "correct:max", "calls:min")
    assert means(found) == {
        run.path.name: [1.0, 12.5 + more] for run, more in zip(runs, (0.0, 1.0, 0.5), strict=True)
    }
    assert [one["difference"] for one in found["tests"] if one["objective"] == "calls"] == [
        *(-1.0, -0.5, 0.5),
    ]
    found = compare(capsys, files, "correct:max", "calls:min", by=["method"])
    assert means(found) == {"recommended": [1.0, 13.0], "paper": [1.0, 13.0]}
    assert [one["answers"] for one in found["models"]] == [16, 8]
    runs[1].update_manifest(files={"task.held_out": "another"})
    found = compare(capsys, files, "correct:max", "calls:min")
    assert [one["difference"] for one in found["tests"] if one["objective"] == "calls"] == [-0.5]


# ---- lm-eval-harness -----------------------------------------------------------------------------


def lm_eval_row(doc, matched, chosen="none"):
    return {
        "doc_id": doc,
        "doc": {"question": f"question {doc}", "answer": "7"},
        "resps": [["The answer is 7."]],
        "filter": chosen,
        "metrics": ["exact_match"],
        "exact_match": matched,
    }


def lm_eval_file(root, model, rows):
    return write_lines(root / model / "samples_gsm8k_2026-01-02T03-04-05.678901.jsonl", rows)


def test_lm_eval_names_model_task_and_question(tmp_path, capsys):
    files = [
        lm_eval_file(tmp_path, model, [lm_eval_row(at, float(at < right)) for at in range(4)])
        for model, right in (("org__small", 1), ("org__large", 3))
    ]
    found = compare(capsys, files, "exact_match:max", "len(resps.0.0):min")
    assert means(found) == {"org/small": [0.25, 16.0], "org/large": [0.75, 16.0]}
    assert found["paired"]
    assert read(files[0]).rows[0]["question"] == "gsm8k/0"
    results = files[0].parent / "results_2026-01-02T03-04-05.678901.json"
    results.write_text(json.dumps({"model_name": "org/name:v2"}))
    assert read(files[0]).rows[0]["model"] == "org/name:v2"


def test_lm_eval_joins_the_filters_of_a_question(tmp_path, capsys):
    rows = [
        lm_eval_row(doc, matched, chosen)
        for chosen, grades in (("strict-match", (0.0, 1.0)), ("flexible-extract", (1.0, 1.0)))
        for doc, matched in enumerate(grades)
    ]
    file = lm_eval_file(tmp_path, "m", rows)
    objectives = ["exact_match,strict-match:max", "exact_match,flexible-extract:max"]
    [model] = compare(capsys, [file], *objectives)["models"]
    assert (model["questions"], model["answers"]) == (2, 2)
    assert list(model["mean"].values()) == [0.5, 1.0]
    main(["compare", str(file), "--objective", "exact_match:max", "--objective", "doc_id:min"])
    assert "has no column 'exact_match': did you mean" in capsys.readouterr().err


# ---- inspect-ai ----------------------------------------------------------------------------------


def inspect_sample(name, epoch, grade, tokens):
    score = {"value": grade, "answer": "7", "explanation": "7", "history": []}
    usage = {"input_tokens": 5, "output_tokens": tokens, "total_tokens": 5 + tokens}
    return {
        "id": name,
        "epoch": epoch,
        "scores": {"match": score, "judge": {"value": {"tone": 0.5, "clear": "P"}}},
        "model_usage": {"org/model-1.5": usage, "org/judge": {**usage, "total_cost": 0.25}},
        "total_time": 1.5,
        "events": [{"event": "sample_init"}],
    }


HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sums", "model": "org/model-1.5", "created": "2026-01-02T03:04:05+00:00"},
}
SAMPLES = [
    inspect_sample("q1", 1, "C", 10),
    inspect_sample("q1", 2, "I", 20),
    inspect_sample("q2", 1, "P", 30),
    inspect_sample("q2", 2, "N", 40),
]


def check_inspect(log):
    assert (log.format, log.by, log.question) == ("inspect-ai", "model", "question")
    assert [row["match"] for row in log.rows] == [1.0, 0.0, 0.5, 0.0]
    first = log.rows[0]
    assert first["judge"] == {"tone": 0.5, "clear": 0.5}
    assert (first["output_tokens"], first["total_tokens"], first["total_cost"]) == (20, 30, 0.25)
    assert (first["model"], first["question"], first["epoch"]) == ("org/model-1.5", "sums/q1", 1)
    assert "events" not in first


def test_inspect_json(tmp_path, capsys):
    file = tmp_path / "log.json"
    file.write_text(json.dumps({**HEADER, "samples": SAMPLES}))
    check_inspect(read(file))
    objectives = ("match:max", "output_tokens:min", "judge.tone:max")
    [model] = compare(capsys, [file], *objectives)["models"]
    assert (model["questions"], model["answers"]) == (2, 4)
    assert model["mean"] == {"match": 0.375, "output_tokens": 50.0, "judge.tone": 0.5}


def members():
    """Return the files of an archive; samples lie in it in the order of their names."""
    named = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in SAMPLES}
    return {"_journal/start.json": HEADER, **named, "summaries.json": [], "header.json": HEADER}


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_inspect_archive(tmp_path, compression):
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in members().items():
            archive.writestr(name, json.dumps(content))
    check_inspect(read(file))


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_inspect_archive_is_named(tmp_path, compression):
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(HEADER))
    content = bytearray(file.read_bytes())
    first, last = content.index(b"header.json") + len("header.json"), content.index(b"PK\1\2")
    messages = []
    for at in range(first, last, 5):
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        file.write_bytes(damaged)
        try:  # some bytes have no effect
            read(file)
        except DataError as error:
            messages.append(str(error))
    named = f"{file} must be a ZIP archive of inspect-ai: "
    assert sum(one.startswith(named) for one in messages) > (last - first) // 10


def write_zstandard(path, contents):
    """Write a ZIP archive with method 93, in two frames, which zipfile cannot write."""
    import zstandard

    local, central = b"", b""
    for name, content in contents.items():
        half = len(content) // 2
        compressor = zstandard.ZstdCompressor()
        packed = compressor.compress(content[:half]) + compressor.compress(content[half:])
        sizes = struct.pack("<HHHIIIHH", 93, 0, 33, zlib.crc32(content), len(packed), len(content),
                            len(name), 0)  # fmt: skip
        central += b"PK\1\2" + struct.pack("<HHH", 63, 63, 0) + sizes
        central += struct.pack("<HHHII", 0, 0, 0, 0, len(local)) + name.encode()
        local += b"PK\3\4" + struct.pack("<HH", 63, 0) + sizes + name.encode() + packed
    count = len(contents)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(central), len(local), 0)
    path.write_bytes(local + central + end)


def test_inspect_archive_in_zstandard(tmp_path):
    pytest.importorskip("zstandard")
    file = tmp_path / "log.eval"
    write_zstandard(file, {name: json.dumps(one).encode() for name, one in members().items()})
    check_inspect(read(file))
    broken = bytearray(file.read_bytes())
    at = broken.index(b"header.json") + len("header.json") + 6
    broken[at : at + 8] = b"\xff" * 8
    file.write_bytes(broken)
    with pytest.raises(DataError, match=r"header\.json (cannot be unpacked|has a wrong size|must)"):
        read(file)
    at = broken.rindex(b"PK\1\2") + 42
    broken[at : at + 4] = b"\xff\xff\xff\x7f"  # where the last file begins
    file.write_bytes(broken)
    with pytest.raises(DataError, match=r"log\.eval must be a ZIP archive of inspect-ai: unpack"):
        read(file)


def test_inspect_archive_says_that_zstandard_is_missing(tmp_path, monkeypatch):
    pytest.importorskip("zstandard")
    file = tmp_path / "log.eval"
    write_zstandard(file, {"header.json": b"{}"})
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(DataError, match=r"run: pip install zstandard, or convert it: inspect log"):
        read(file)


def test_other_archives_are_refused(tmp_path):
    file = tmp_path / "log.eval"
    file.write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"log\.eval must be a ZIP archive of inspect-ai"):
        read(file)
    for name, text, method, message in (
        ("other.txt", "text", 0, r"must be a log of inspect-ai, but holds no header\.json"),
        ("header.json", "{}", 99, r"header\.json has the unknown compression 99"),
        ("header.json", "[1]", 0, r"header\.json must be a JSON object, got b'\[1\]'"),
    ):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, text)
        content = bytearray(file.read_bytes())
        content[content.index(b"PK\1\2") + 10] = method
        file.write_bytes(content)
        with pytest.raises(DataError, match=message):
            read(file)


# ---- verifiers, paretopo -------------------------------------------------------------------------


def test_files_of_one_model_are_noted(tmp_path, capsys):
    rows = [{"model": "m", "question": at, "right": 1.0, "tokens": 10} for at in range(4)]
    files = [write_lines(tmp_path / name, rows) for name in ("a.jsonl", "b.jsonl")]
    objectives = ("right:max", "tokens:min")
    note = "Rows of several files are one model: m (2); --by file tells them apart."
    assert note in compare(capsys, files, *objectives)["notes"]
    assert [*means(compare(capsys, files, *objectives, by=["file"]))] == ["a.jsonl", "b.jsonl"]


def trace(score, tokens, model="org/model"):
    return {
        "task": {"type": "Sum", "data": {"idx": 0, "prompt": "1+1?"}, "key": "k1"},
        "agent": {"config": {"model": model}, "name": "agent", "trainable": True},
        "rewards": {"correct": {"score": score, "weight": 2.0}, "brief": {"score": 0.5}},
        "metrics": {"turns": 3.0},
        "num_output_tokens": tokens,
    }


def test_verifiers_traces(tmp_path, capsys):
    episodes = [
        {"id": str(at), "env": {"id": "sums"}, "task": {"type": "Sum", "data": {}}, "ok": True,
         "traces": [trace(float(at), 10 + at)]}
        for at in range(2)
    ]  # fmt: skip
    episodes.append({**episodes[0], "traces": [{**trace(0.0, 1), "rewards": {"correct": None}}]})
    file = write_lines(tmp_path / "run" / "traces.jsonl", episodes)
    log = read(file)
    assert [row.get("reward") for row in log.rows] == [0.5, 2.5, None]
    assert (log.rows[0]["model"], log.rows[0]["question"]) == ("org/model", "sums/k1")
    assert log.places[1] == "line 2 trace 1"
    found = compare(capsys, [file], "correct:max", "num_output_tokens:min")
    assert found["models"][0]["mean"] == {"correct": 0.5, "num_output_tokens": 10.5}
    assert "1 of 3 rows lack a value of an objective" in " ".join(found["notes"])


def test_a_row_of_another_format_is_named(tmp_path):
    file = lm_eval_file(tmp_path, "m", [lm_eval_row(0, 1.0), {"other": 1}])
    with pytest.raises(DataError, match=r"line 2 must be a row of lm-eval, as the first one is"):
        read(file)


# ---- vLLM ----------------------------------------------------------------------------------------


def test_sweeps_of_vllm_have_tokens_per_user_and_gpu(tmp_path, capsys):
    # One folder for each combination, with a row for each run; two configurations tie in one
    # objective, so the worse one is dominated.
    sweep = {
        "SERVE--tp=1-BENCH--users=10": ({"max_concurrency": 10, "tp": 1}, (100, 120)),
        "SERVE--tp=2-BENCH--users=10": ({"max-concurrency": 10, "tp": 2}, (110, 110)),
        "SERVE--tp=2-BENCH--rate=inf": ({"max_concurrent_requests": 55, "tp": 2}, (550, 550)),
    }
    files = []
    for name, (settings, throughputs) in sweep.items():
        rows = [
            {"request_rate": "inf", "output_throughput": one, "run_number": run, **settings}
            for run, one in enumerate(throughputs)
        ]
        (tmp_path / name).mkdir()
        files.append(tmp_path / name / "summary.json")
        files[-1].write_text(json.dumps(rows, indent=4))
    found = compare(capsys, files, "tokens_per_user:max", "tokens_per_gpu:max")
    assert {one["name"]: [*one["mean"].values(), one["on_front"]] for one in found["models"]} == {
        "SERVE--tp=1-BENCH--users=10": [11.0, 110.0, True],
        "SERVE--tp=2-BENCH--users=10": [11.0, 55.0, False],
        "SERVE--tp=2-BENCH--rate=inf": [10.0, 275.0, True],
    }
    assert "model" in read(files[0]).added


# ---- trackers ------------------------------------------------------------------------------------


def test_local_runs_of_wandb_are_files_of_one_object(tmp_path, capsys):
    """``wandb leet inspect --summary --json RUN`` prints such an object on several lines."""
    files = []
    for name, accuracy in (("calm-sun-1", 0.5), ("b - run", 0.6)):
        summary = {"_runtime": 1, "_step": 2, "eval/acc": accuracy, "eval/tokens": 298}
        run = {"config": {"lr": 0.1}, "console": [], "name": name, "state": "finished", "step": 2}
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(json.dumps({**run, "summary": summary, "tags": []}, indent=2) + "\n")
    found = compare(capsys, files, "summary.eval/acc:max", "summary.eval/tokens:min", by=["name"])
    assert means(found) == {"calm-sun-1": [0.5, 298.0], "b - run": [0.6, 298.0]}


def write_events(folder, tag, values):
    """Write scalars as the SummaryWriter of torch and of tensorboardX does."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder), filename_suffix=f".{tag}")
    for step, value in enumerate(values):
        summary = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
        writer.add_event(Event(step=step, summary=summary))
    writer.close()


def test_event_files_of_tensorboard_are_joined_by_folder(tmp_path, capsys):
    summary = pytest.importorskip("tensorboard.summary")
    for run, accuracy in (("a", 0.5), ("b", 0.75)):
        write_events(tmp_path / run / "logs", "acc", [0.0, accuracy])
        writer = summary.Writer(str(tmp_path / run / "logs"))  # writes tensors, as TensorFlow does
        writer.add_scalar("tokens", 300, 2)
        writer.close()
    files = sorted(tmp_path.glob("*/logs/events.out.tfevents.*"))
    assert len(files) == 4
    assert means(compare(capsys, files, "acc:max", "tokens:min")) == {
        str(tmp_path / "a" / "logs"): [0.5, 300.0],
        str(tmp_path / "b" / "logs"): [0.75, 300.0],
    }


def test_other_event_files_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    file = tmp_path / "events.out.tfevents.1"
    with pytest.raises(DataError, match=r"tfevents\.1 cannot be read: No such file"):
        read(file)
    file.write_bytes(b"no events, but long enough for a header")
    with pytest.raises(DataError, match=r"tfevents\.1 must be an event file .* but has none"):
        read(file)
    monkeypatch.setitem(sys.modules, "tensorboard.backend.event_processing.event_file_loader", None)
    with pytest.raises(DataError, match=r"event file of TensorBoard; run: pip install tensorboard"):
        read(file)
