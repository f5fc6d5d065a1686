"""The made-up encyclopedia: its articles, the hops of its questions, and its search results."""

import re
from collections import Counter

import pytest

from paretopo.config import loads
from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.rewards.correctness import exact_answer
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.encyclopedia import Encyclopedia
from paretopo.tasks.made_up import KINDS
from paretopo.tasks.made_up_multihop import MadeUpMultihop
from paretopo.tools.search import SearchClient

TASK = MadeUpMultihop(prompts=300, held_out=90, seed=1)
EVERYTHING = [*TASK.training, *TASK.held_out]
ARTICLES = dict(TASK.encyclopedia.articles())
BEFORE, AFTER = search_r1_prompt("|?").split("|?")

SENTENCES = {  # question about one name → the sentence that answers it
    r"What is the capital of (\w+)\?": r"The capital of {} is (\w+)\.",
    r"Where was (.+) born\?": r"{} was born in (\w+)\.",
    r"Who taught (.+)\?": r"{} studied under (\w+)\.",
    r"Which river runs through (.+)\?": r"{} lies on the (\w+)\.",
    r"Who founded (.+)\?": r"{} was founded by (\w+)\.",
}
PHRASES = {
    r"the birthplace of (\w+)": r"{} was born in (\w+)\.",
    r"the teacher of (\w+)": r"{} studied under (\w+)\.",
    r"the founder of (\w+)": r"{} was founded by (\w+)\.",
}


def read(patterns, text):
    """(name, its answer by reading its article) of the pattern that fits."""
    for asked, fact in patterns.items():
        if found := re.fullmatch(asked, text):
            name = found[1]
            if name in ARTICLES:
                return name, re.search(fact.format(name), ARTICLES[name])[1]
            return name, fact
    raise AssertionError(text)


def bare(question):
    assert question.text.startswith(BEFORE)
    return question.text.removeprefix(BEFORE).removesuffix(AFTER)


def hops_of(text):
    """Return the articles to read in order and the answer, found only by reading."""
    name, answer = read(SENTENCES, text)
    if name in ARTICLES:
        return [name], answer
    fact = answer
    first, between = read(PHRASES, name)
    return [first, between], re.search(fact.format(between), ARTICLES[between])[1]


def test_answers_follow_from_the_articles():
    for question in EVERYTHING:
        read_articles, answer = hops_of(bare(question))
        assert answer == question.answer
        if question.kind != "fact":
            assert tuple(read_articles) == question.steps
        assert len(question.steps) == KINDS.index(question.kind)


def test_two_hops_cannot_be_one():
    """No article that mentions the name in the question holds the answer's sentence."""
    for question in EVERYTHING:
        if question.kind == "two":
            asked, between = question.steps
            assert between not in bare(question)
            assert asked not in ARTICLES[between]
            assert between in ARTICLES[asked]


def test_answers_need_the_article():
    """The commonest answer to questions that need a search is rarely right."""
    answers = Counter(q.answer for q in EVERYTHING if q.kind != "fact")
    assert answers.most_common(1)[0][1] / answers.total() < 0.05


def test_names_are_names_of_one_thing():
    for seed in range(5):
        world = Encyclopedia(seed)
        titles = [title for title, _ in world.articles()]
        assert len(set(titles)) == len(titles) == 230
        assert len(set(world.rivers.values())) == len(world.rivers)
        for person, teacher in world.teachers.items():
            assert world.teachers[teacher] != person != teacher
        for town, founder in world.founders.items():
            assert world.births[founder] != town


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    config = loads('seed = 1\n[task]\nname = "multihop"\nprompts = 300\n[evaluation]\nprompts = 90')
    with ensure_search_server(config, tmp_path_factory.mktemp("world") / "data") as config:
        yield config


def test_the_real_server_finds_each_article_by_its_name(served):
    with SearchClient(served.tool.search_url, topk=3) as search:
        titles = list(ARTICLES)
        found = search.search_all(titles)
    for title, documents in zip(titles, found, strict=True):
        assert documents[0].title == f'"{title}"'
        assert documents[0].text == ARTICLES[title]


def test_traces_include_needless_searches_and_guesses(served):
    task = make_task(served)
    assert (task.training, task.held_out) == (TASK.training, TASK.held_out)
    assert task.traces(5, 8, 2, 0.3) == task.traces(5, 8, 2, 0.3)
    reserved = {q.text for q in task.held_out if q.kind != "fact"}
    guessed, needless = [], []
    for step in range(20):
        for trace in task.traces(step, 32, redundant_calls=2, guess_rate=0.3):
            (message,) = trace.prompt
            assert message["role"] == "user"
            assert message["content"] not in reserved
            text = message["content"].removeprefix(BEFORE).removesuffix(AFTER)
            hops, answer = hops_of(text)
            own = [piece for piece, is_own in trace.pieces if is_own]
            seen = [piece for piece, is_own in trace.pieces if not is_own]
            for query, passages in zip(own, seen, strict=False):
                title = re.search(r"<search> (\w+) </search>", query)[1]
                assert f'Doc 1(Title: "{title}") {ARTICLES[title]}' in passages
            right = exact_answer("".join(own), answer) == 1.0
            needed = 0 if text.startswith("What is the capital") else len(hops)
            assert right or len(seen) < needed
            guessed.append(not right)
            if right:
                assert needed <= len(seen) <= needed + 2
                needless.append(len(seen) - needed)
    assert 0.15 < sum(guessed) / len(guessed) < 0.35
    assert sum(needless) / len(needless) > 0.75


def test_the_server_stops_with_its_context(tmp_path):
    from paretopo.tools.http_client import ServerError

    with ensure_search_server(loads('[task]\nname = "multihop"'), tmp_path / "data") as config:
        url = config.tool.search_url
        assert url.startswith("http://127.0.0.1:")
    with SearchClient(url, retries=0) as search, pytest.raises(ServerError):
        search.search("anything")


def test_other_tasks_need_no_server(tmp_path):
    config = loads('[task]\nname = "math"')
    with ensure_search_server(config, tmp_path / "data") as same:
        assert same is config
    assert not (tmp_path / "data").exists()
