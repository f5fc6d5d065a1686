"""The files of paretopo compare: page, picture, tables."""

import json

import numpy as np
import pytest
from support.pages import check_self_contained, read, texts
from support.trajectory_groups import HOSTILE

from paretopo.cli import main
from paretopo_lab.statistics.regions import covariance_of_means, trace_ellipse


def write_logs(path, models, questions=60):
    """Write answers of models, given their accuracy and tokens; the family is the first letter."""
    rng = np.random.default_rng(0)
    lines = ["model,family,question,accuracy,tokens,calls"]
    lines += [
        f"{name},{name[0]},q{at},{int(rng.random() < accuracy)},"
        f"{int(tokens * rng.uniform(0.5, 1.5))},{rng.integers(4)}"
        for name, (accuracy, tokens) in models.items()
        for at in range(questions)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


MODELS = {"a1": (0.9, 400), "a2": (0.6, 200), "b1": (0.7, 500), "b2": (0.3, 100)}


def write_report(tmp_path, *arguments, models=MODELS):
    out = tmp_path / "report"
    objectives = ("--objective", "accuracy:max", "--objective", "tokens:min")
    log = write_logs(tmp_path / "log.csv", models)
    assert main(["compare", log, *objectives, *arguments, "--out", str(out)]) == 0
    return out


def test_all_files_are_written(tmp_path, capsys):
    out = write_report(tmp_path)
    assert {one.name for one in out.iterdir()} == {
        "compare.html",
        "compare.md",
        "compare.json",
        "front.png",
    }
    printed, error = capsys.readouterr()
    assert f"paretopo: wrote {out / 'compare.html'}" in error
    written = (out / "compare.md").read_text()
    assert written.startswith(printed.partition("## Models")[0])
    assert "| model | on the front | dominated by (p) |" in written
    assert len(json.loads((out / "compare.json").read_text())["models"]) == 4


@pytest.mark.parametrize("more", [(), ("--front", "family"), ("--objective", "calls:min")])
@pytest.mark.parametrize("tokens", [400, 4000])  # on a linear axis, and on a logarithmic one
def test_the_picture_has_content(tmp_path, capsys, more, tokens):
    from matplotlib.image import imread

    models = MODELS | {"a1": (0.9, tokens)}
    picture = imread(write_report(tmp_path, *more, models=models) / "front.png")
    assert min(picture.shape[:2]) > 400
    colours = (255 * picture).astype(np.uint8).view(np.uint32)  # red, green, blue and opacity
    assert len(np.unique(colours)) > 10


def test_the_page_holds_every_model_and_loads_nothing(tmp_path, capsys):
    text = (write_report(tmp_path, "--front", "family") / "compare.html").read_text()
    check_self_contained(text)
    page = read(text)
    titles = [title for _, title in page.of("title")[1:]]
    assert [one.splitlines()[0] for one in titles] == ["a1", "a2", "b1", "b2"]
    assert "\nquestions: 60\non the front, p: " in titles[0]
    assert [title for _, title in page.of("h2")] == [
        "Front",
        "Models",
        "Hypervolume",
        "Fronts against each other",
        "Question by question",
    ]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_has_a_mark_for_every_model(tmp_path, capsys, show_page, width):
    out = write_report(tmp_path, "--objective", "calls:min", "--front", "family")
    page = show_page((out / "compare.html").read_text(), width=width)
    assert page.value("document.querySelectorAll('figure title').length") == 3 * 4
    assert [one.strip() for one in texts(page, "li")] == ["a", "b"]
    assert page.value("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_names_of_models_are_texts(tmp_path, capsys, show_page):
    models = {name: (0.5, 100 * at) for at, name in enumerate([*HOSTILE[:5], "$x_1$"], start=1)}
    page = show_page((write_report(tmp_path, models=models) / "compare.html").read_text())
    assert page.value("window.broken") is None
    drawn = page.value("[...document.querySelectorAll('figure text')].map((e) => e.textContent)")
    assert set(models) <= {*drawn} & {*texts(page, "tbody th")}


def test_the_ellipse_holds_95_percent():
    rng = np.random.default_rng(0)
    covariance = np.array([[4.0, 1.5], [1.5, 1.0]])
    drawn = rng.multivariate_normal([0, 0], covariance, size=20_000)
    edge = trace_ellipse(covariance)
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    radius = np.linalg.norm(edge @ root.T, axis=1)
    np.testing.assert_allclose(radius, radius[0])
    inside = np.linalg.norm(drawn @ root.T, axis=1) < radius[0]
    assert inside.mean() == pytest.approx(0.95, abs=0.01)


def test_covariance_of_one_question_is_unknown():
    assert np.isnan(covariance_of_means(np.ones((1, 2)))).all()
    values = np.random.default_rng(1).random((50, 2))
    np.testing.assert_allclose(
        np.sqrt(np.diag(covariance_of_means(values))), values.std(axis=0, ddof=1) / np.sqrt(50)
    )
