"""The claims of the paper, and the rule that chooses settings."""

import re

import numpy as np
from support.studies import ENDS, SEEDS, make_results

from paretopo_lab.document.report import Report
from paretopo_lab.statistics.pairs import compare
from research.claims import _decide_more, check_claims, format_claims
from research.tuning import choose_settings


def test_claims_are_refuted_only_by_an_interval():
    rng = np.random.default_rng(5)
    scatter = rng.standard_normal(SEEDS)
    scatter -= scatter.mean()
    verdicts = []
    for mean, spread in ((-0.05, 0.1), (0.0, 0.1), (0.0, 0.001), (-0.3, 0.1), (0.3, 0.1)):
        found = compare({"claim": mean + spread * scatter}, {"claim": 0.03})
        verdicts.append(_decide_more(found))
    wanted = ["not reproduced", "unknown", "no difference", "the opposite", "reproduced"]
    assert verdicts == wanted


def test_choice_maximises_the_worst_case():
    ends = {
        ("free", "grpo+w60"): (0.9, 0.7, 1.2), ("lucky", "grpo+w60"): (0.3, 0.7, 1.2),
        ("free", "grpo+w80"): (0.7, 0.7, 1.2), ("lucky", "grpo+w80"): (0.6, 0.7, 1.2),
        ("free", "rloo+w60"): (0.5, 0.7, 1.2), ("lucky", "rloo+w60"): (0.5, 0.7, 1.2),
        ("free", "rloo+w80"): (0.9, 0.7, 1.2), ("lucky", "rloo+w80"): (0.4, 0.7, 1.2),
    }  # fmt: skip
    weights = {
        name: {"objectives": {"correct": {"weight": share}, "calls": {"weight": 1.0 - share}}}
        for name, share in (("w60", 0.6), ("w80", 0.8))
    }
    study = make_results(ends, weights)
    assert choose_settings(study, "hypervolume") == {"grpo": "grpo+w80", "rloo": "rloo+w60"}


def test_claims_are_listed_in_reports_that_defend_the_paper():
    defends_ours = make_results(ENDS)
    assert format_claims(defends_ours) == []
    paper_first = sorted(ENDS, key=lambda pair: pair[1] != "paper")
    study = make_results({pair: ENDS[pair] for pair in paper_first})
    text = Report("", format_claims(study)).write()
    found = check_claims(study)
    tested = sum(len(one.tested) for one in found)
    assert f"p after Holm over the {tested} differences that are tested here" in text
    assert len(re.findall(r"\(p = [\d.e-]+\)", text)) == tested
    verdicts = {(one.claim, one.task): one.verdict for one in found}
    as_accurate = "ParetoPO is as accurate as training for accuracy, with fewer calls"
    assert verdicts[as_accurate, "free"] == "not reproduced"
    most = "training for accuracy has nearly the highest accuracy and the most calls"
    assert verdicts[most, "lucky"] == "by means: yes"
    assert verdicts["calls fall during training with ParetoPO", "free"] == "reproduced"
