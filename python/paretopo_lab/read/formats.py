"""The formats of other programs: which file is which, and its rows with names that are known.

Each reader adds the columns ``model`` and ``question`` where the format knows them, and keeps all
others. Nothing is executed or unpickled.

Tried with files that lm-eval 0.4.13, inspect-ai 0.3.285, verifiers 0.4.0, tensorboard 2.21.0,
tensorboardX 2.6.5 and torch 2.13.0 wrote. The format of vLLM's sweeps is from its source code.
"""

from __future__ import annotations

import hashlib
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretopo.records.files import Row, parse_object
from paretopo.records.folder import RunFolder
from paretopo.records.schema import DataError

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")  # of lm-eval
_NO_METRICS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter"}
_NO_METRICS |= {"metrics", "doc_hash", "prompt_hash", "target_hash"}
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "no": 0.0}  # of inspect-ai
_USAGE = ("input_tokens", "output_tokens", "total_tokens", "reasoning_tokens", "total_cost")
_HEAVY = ("events", "events_data", "attachments", "timelines", "store")  # of inspect-ai's samples
_BY_ZIPFILE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
# Errors of zipfile and its decompressors; that of bz2 is OSError.
_UNPACKING = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error)
_DAMAGED = (*_UNPACKING, EOFError, OSError, RuntimeError)
_ZSTANDARD = 93  # in ZIP; zipfile reads only its first frame, or none
_LARGEST = 2**30  # bytes of an unpacked sample; a hostile archive must not fill the memory

Placed = tuple[Row, str]


@dataclass(frozen=True)
class Format:
    """A format of rows in JSON or JSON lines.

    Attributes:
        name: The program that writes it.
        matches: Whether the first row of a file is of this format.
        convert: Returns the rows of a file, given its path, with their places.
    """

    name: str
    matches: Callable[[Row], bool]
    convert: Callable[[Path, Sequence[Placed]], Iterable[Placed]]


# ---- lm-eval-harness -----------------------------------------------------------------------------


def _convert_lm_eval(path: Path, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Join the rows of a question, one for each filter.

    A metric is called NAME,FILTER, as in lm-eval's tables, and NAME as well if there is one filter.
    """
    named = _SAMPLES.fullmatch(path.name)
    task = named[1] if named else path.stem
    model = _read_model(path.with_name(f"results_{named[2]}.json")) if named else ""
    model = model or path.resolve().parent.name.replace("__", "/")
    filters = {str(row.get("filter", "none")) for row, _ in rows}
    joined: dict[tuple[str, int], Placed] = {}
    seen: dict[tuple[str, str], int] = {}
    for row, place in rows:
        question, chosen = f"{task}/{row['doc_id']}", str(row.get("filter", "none"))
        repeat = seen[question, chosen] = seen.get((question, chosen), -1) + 1
        own = {"model": model, "task": task, "question": question, **row}
        found = joined.setdefault((question, repeat), (own, place))[0]
        for name in row.get("metrics", [key for key in row if key not in _NO_METRICS]):
            value = row.get(name)
            found[f"{name},{chosen}"] = value
            if len(filters) > 1:
                found.pop(name, None)
    yield from joined.values()


def _read_model(file: Path) -> str:
    """Return the name of the model in a file of results; "" without one."""
    try:
        return str((parse_object(file.read_bytes()) or {}).get("model_name") or "")
    except OSError:
        return ""


# ---- verifiers, paretopo, vLLM -------------------------------------------------------------------


def _convert_traces(path: Path, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Convert traces.jsonl of verifiers: a row for each agent's trace of an episode."""
    for episode, place in rows:
        environment = _dig(episode, "env", "id") or ""
        for number, trace in enumerate(episode["traces"], start=1):
            rewards = {name: one for name, one in (trace.get("rewards") or {}).items() if one}
            task = trace.get("task") or {}
            key = task.get("key") or task.get("hash") or _dig(task, "data", "idx")
            own: Row = {name: one.get("score") for name, one in rewards.items()}
            own |= trace.get("metrics") or {}
            if rewards:
                own["reward"] = sum(
                    one.get("score", 0.0) * one.get("weight", 1.0) for one in rewards.values()
                )
            model = _dig(trace, "agent", "config", "model") or path.resolve().parent.name
            own |= {"model": model, "question": f"{environment}/{key}"}
            rest = {key: trace[key] for key in trace if key not in own}
            yield {**own, **rest}, f"{place} trace {number}"


def _convert_trajectories(path: Path, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Convert trajectories.jsonl of paretopo: a row for each rollout of a question."""
    model = path.resolve().parent.name
    for group, place in rows:
        shared = {key: group[key] for key in ("step", "kind", "held_out") if key in group}
        for number, rollout in enumerate(group["rollouts"], start=1):
            own = {"model": model, "question": group["id"], **shared}
            rest = {key: value for key, value in rollout.items() if key != "segments"}
            yield {**rest, **own}, f"{place} rollout {number}"


def _convert_questions(path: Path, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Convert questions.json of paretopo: a row for each question of the last evaluation."""
    run = RunFolder.open(path.parent)
    own = {"model": run.path.resolve().name, "method": run.title, "seed": run.config.seed}
    source = _digest_source(run)
    for content, _ in rows:
        for name, measured in content["last"]["measured"].items():
            yield {**own, "question": f"{source}{name}", **measured}, f"question {name}"


def _digest_source(run: RunFolder) -> str:
    """Return a prefix for the names of held-out questions, with which no two sets share a name."""
    if run.manifest.get("script"):
        return ""  # a script names its questions by their prompts
    task, files = run.config.task, run.manifest.get("files", {})
    made = (task, run.config.seed) if task.is_made_up else task.held_out
    source = (task.name, files.get("task.held_out") or made)
    return hashlib.sha256(repr(source).encode()).hexdigest()[:8] + "/"


def _convert_vllm(path: Path, rows: Sequence[Placed]) -> Iterator[Placed]:
    """Convert results of ``vllm bench sweep``: a model is a combination, that is, a folder."""
    model = path.resolve().parent.name
    for row, place in rows:
        throughput = float(row["output_throughput"])
        users = _find_setting(row, "max_concurrency", "max_concurrent_requests")
        gpus = math.prod(
            _find_setting(row, f"{one}_parallel_size", f"{one[0]}p") or 1.0
            for one in ("tensor", "pipeline", "data")
        )
        own: Row = {"model": model, "tokens_per_gpu": throughput / gpus}
        if users:
            own["tokens_per_user"] = throughput / users
        yield {**row, **own}, place


def _find_setting(row: Row, *names: str) -> float | None:
    """Return a number under one of its names, written with underscores or hyphens."""
    values = (row.get(one) for name in names for one in (name, name.replace("_", "-")))
    return next((float(value) for value in values if value is not None), None)


def _dig(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


FORMATS = (
    Format("lm-eval", lambda row: {"doc_id", "resps"} <= row.keys(), _convert_lm_eval),
    Format(
        "verifiers",
        lambda row: isinstance(row.get("traces"), list) and {"env", "task"} <= row.keys(),
        _convert_traces,
    ),
    Format(
        "paretopo",
        lambda row: isinstance(row.get("rollouts"), list) and {"id", "step"} <= row.keys(),
        _convert_trajectories,
    ),
    Format(
        "paretopo's questions",
        lambda row: isinstance(row.get("last"), dict) and "measured" in row["last"],
        _convert_questions,
    ),
    Format("vLLM", lambda row: {"output_throughput", "run_number"} <= row.keys(), _convert_vllm),
)


# ---- inspect-ai ----------------------------------------------------------------------------------


def is_inspect(content: Any) -> bool:
    """Return whether a JSON file is a log of inspect-ai."""
    return isinstance(content, dict) and "eval" in content and "samples" in content


def convert_inspect(log: Mapping[str, Any], samples: Iterable[Placed]) -> Iterator[Placed]:
    """Convert samples of inspect-ai.

    Each scorer is a column with its value as a number, as inspect-ai's own metrics convert it.
    Tokens and costs are sums over the models that a sample called.

    Args:
        log: Its header, with the specification as "eval".
        samples: With their places.
    """
    model, task = _dig(log, "eval", "model"), _dig(log, "eval", "task")
    for sample, place in samples:
        usage = [one for one in (sample.get("model_usage") or {}).values() if one]
        sums = {key: [one[key] for one in usage if one.get(key) is not None] for key in _USAGE}
        own: Row = {
            name: _grade(score.get("value")) for name, score in (sample.get("scores") or {}).items()
        }
        own |= {key: sum(values) for key, values in sums.items() if values}
        own |= {"model": model, "task": task, "question": f"{task}/{sample.get('id')}"}
        rest = {key: sample[key] for key in sample if key not in own and key not in _HEAVY}
        yield {**own, **rest}, place


def _grade(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _grade(one) for name, one in value.items()}
    return _GRADES.get(value, value) if isinstance(value, str) else value


def read_eval(path: Path) -> list[Placed]:
    """Read an ``.eval`` file of inspect-ai, a ZIP archive of JSON.

    Raises:
        DataError: it is no such archive, or its compression needs zstandard, which is missing.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            start = "header.json" if "header.json" in names else "_journal/start.json"
            if start not in names:
                raise DataError(f"{path} must be a log of inspect-ai, but holds no header.json")
            header = _parse_member(path, archive, start)
            samples = [
                (_parse_member(path, archive, name), name)
                for name in sorted(names)
                if name.startswith("samples/") and name.endswith(".json")
            ]
    except _DAMAGED as error:
        raise DataError(f"{path} must be a ZIP archive of inspect-ai: {error}") from None
    return list(convert_inspect(header, samples))


def _parse_member(path: Path, archive: zipfile.ZipFile, name: str) -> Row:
    info = archive.getinfo(name)
    if info.file_size > _LARGEST:
        raise DataError(
            f"{path}: {name} has {info.file_size:,} bytes; at most {_LARGEST:,} are read"
        )
    if info.compress_type in _BY_ZIPFILE:
        content = archive.read(name)
    elif info.compress_type == _ZSTANDARD:
        content = _read_zstandard(path, archive, info)
    else:
        raise DataError(f"{path}: {name} has the unknown compression {info.compress_type}")
    found = parse_object(content)
    if found is None:
        raise DataError(f"{path}: {name} must be a JSON object, got {content[:60]!r}")
    return found


def _read_zstandard(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Unpack a member that is compressed by zstandard."""
    try:
        import zstandard
    except ImportError:
        raise DataError(
            f"{path} is compressed by zstandard; run: pip install zstandard, or convert it: "
            "inspect log convert --to json"
        ) from None
    file: Any = archive.fp
    file.seek(info.header_offset)
    head = file.read(30)
    name, extra = struct.unpack("<HH", head[26:30])
    file.seek(info.header_offset + 30 + name + extra)
    packed = file.read(info.compress_size)
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            content: bytes = reader.read(info.file_size + 1)
    except zstandard.ZstdError as error:
        raise DataError(f"{path}: {info.filename} cannot be unpacked: {error}") from None
    if len(content) != info.file_size:
        raise DataError(f"{path}: {info.filename} has a wrong size: the file is damaged")
    return content


# ---- TensorBoard ---------------------------------------------------------------------------------


def read_events(path: Path) -> Row:
    """Return the last value of each scalar of a TensorBoard event file.

    Raises:
        DataError: tensorboard is missing, or the file has no scalar.
        OSError: the file is missing.
    """
    try:
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
        from tensorboard.util.tensor_util import make_ndarray
    except ImportError:
        raise DataError(
            f"{path} is an event file of TensorBoard; run: pip install tensorboard"
        ) from None
    path.stat()  # the loader's error for a missing file is not OSError
    found: Row = {}
    for event in EventFileLoader(str(path)).Load():
        for value in event.summary.value:
            cell = make_ndarray(value.tensor) if value.HasField("tensor") else None
            if cell is not None and cell.ndim == 0 and cell.dtype.kind in "fiu":
                found[value.tag] = cell.item()
    if not found:
        raise DataError(f"{path} must be an event file of TensorBoard with scalars, but has none")
    return found
