"""Convert published files to rows on disk, with a manifest: the work of `paretopo prepare`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from paretopo.records.schema import DataError, open_rows
from paretopo_lab.prepare.rows import ELSEWHERE, Tally, read_usable_rows
from paretopo_lab.prepare.sources import SOURCES, Source
from paretopo_lab.prepare.training_set import Options, TrainingSet
from paretopo_lab.read.data_files import sha256_of

TRAIN, HELD_OUT, TEST, MANIFEST = "train.jsonl", "held_out.jsonl", "test.jsonl", "manifest.json"

Manifest = dict[str, Any]


def download(source: Source) -> Path:
    """Return the published file, from the Hub's local cache or from the Hub.

    Repository and revision are those of the table. The file is data; no code of the repository
    runs.

    Raises:
        DataError: The file is not on the Hub, or the Hub gave an error; the message says which file
            to download, and how to continue.
    """
    by_hand = f"download {source.address} and pass it: paretopo prepare {source.name} --from FILE"
    if source.repository is None:
        raise DataError(f"{source.title} is not on the Hugging Face Hub: {by_hand}")
    import httpx
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(
            hf_hub_download(
                source.repository, source.file, repo_type="dataset", revision=source.revision
            )
        )
    except (OSError, httpx.HTTPError, HfHubHTTPError) as error:
        reason = (str(error) or type(error).__name__).split(". ")[0].splitlines()[0]
        raise DataError(f"the Hugging Face Hub gave no file ({reason}): {by_hand}") from None


def find_prepared_benchmarks(out: Path) -> list[Path]:
    """Return the benchmarks that have been prepared in a folder."""
    paths = [out / source.name / TEST for source in SOURCES.values() if not source.training]
    return [path for path in paths if path.exists()]


def prepare(source: Source, file: Path, out: Path, options: Options) -> Manifest:
    """Write the rows of a data set, and a manifest next to them.

    A training set becomes train.jsonl and held_out.jsonl, a benchmark test.jsonl, in the folder
    `out / source.name`. The same file and options give the same bytes. Rows are streamed: memory
    holds about 400 bytes for each question.

    Args:
        source: The data set of the file.
        file: As published.
        out: Folder of all data sets; no question of a prepared benchmark in it is trained on.
        options: Options of a training set; a benchmark stays as published.

    Returns:
        The manifest: file and outputs with checksums, options, counts of rows, warnings.

    Raises:
        DataError: The file cannot be read, or an output would be empty.
        OSError: The outputs cannot be written.
    """
    tally = Tally()
    excluded = [*find_prepared_benchmarks(out), *options.exclude] if source.training else []
    training = TrainingSet(options, excluded, tally) if source.training else None
    with ExitStack() as stack:
        train_or_test, *held_out = (
            stack.enter_context(open_rows(out / source.name / name))
            for name in ((TRAIN, HELD_OUT) if training else (TEST,))
        )
        for row in read_usable_rows(source, file, tally):
            is_held_out = training.assign(row) if training else False
            if is_held_out is not None:
                (held_out[0] if is_held_out else train_or_test).write(row)
                tally.kept[row.datasource] += 1
        writers = [train_or_test, *held_out]
        for writer in writers:
            if not writer.rows:
                raise DataError(f"no rows for {writer.path}: {tally}")
    manifest: Manifest = {
        "name": source.name,
        "title": source.title,
        "published": {"address": source.address, "rows": source.rows, "sha256": source.sha256},
        "files": [_describe_file(file)],
    }
    if training:
        manifest["options"] = {"held_out": options.held_out, "seed": options.seed}
        manifest["excluded"] = [
            _describe_file(path) | {"removed": training.removed[path]} for path in excluded
        ]
    manifest |= {
        "read": tally.read,
        "dropped": _sort_counts(tally.dropped),
        "kept": _sort_counts(tally.kept),
        "notes": _sort_counts(tally.notes),
        "outputs": [
            _describe_file(writer.path) | {"path": writer.path.name, "rows": writer.rows}
            for writer in writers
        ],
        "warnings": _find_warnings(source, file, tally, excluded),
    }
    path = out / source.name / MANIFEST
    path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return manifest


def _find_warnings(source: Source, file: Path, tally: Tally, excluded: Sequence[Path]) -> list[str]:
    warnings = []
    own = tally.read - tally.dropped[ELSEWHERE]
    if not source.accepts_count(own):
        about = "" if source.counted else "about "
        warnings.append(
            f"{own:,} rows of {source.title}, where {about}{source.rows:,} are published"
        )
    digest = sha256_of(file)
    if source.sha256 is not None and digest != source.sha256:
        warnings.append(f"the file is not as published: sha256 {digest}, expected {source.sha256}")
    lost = tally.dropped.total() - tally.dropped[ELSEWHERE]
    if lost and not source.training:
        warnings.append(f"{lost:,} rows of a benchmark could not be used")
    if source.training and not excluded:
        warnings.append(
            "no benchmark was kept out of the training set: prepare the benchmarks first, in the "
            "same folder, or name them with --exclude"
        )
    return warnings


def _describe_file(path: Path) -> Manifest:
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": sha256_of(path)}


def _sort_counts(counts: Counter[str]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}
