"""ToRL's and Search-R1's protocols, turn by turn."""

import asyncio

import pytest

from paretopo.protocols.episode import StepResult
from paretopo.protocols.search_r1 import (
    INVALID,
    SearchR1Episode,
    cut_after_action,
    format_documents,
    search_r1_prompt,
)
from paretopo.protocols.torl import STOP, TorlEpisode, format_observation, last_program, torl_prompt
from paretopo.tools.python_interpreter import ProgramResult
from paretopo.tools.search import Document

NOTHING = "timeout_decorator.timeout_decorator.TimeoutError: 'Timed Out'"


def test_prompts_take_any_text():
    problem = r"Find \boxed{} of {x} % [PROMPT]"
    prompt = torl_prompt(problem)
    assert prompt.startswith("A conversation between User and Assistant. The user asks a question,")
    assert prompt.endswith(f"within \\boxed{{}}.\n{problem}\nAssistant:\n")
    assert prompt.count("\n") == 4
    assert search_r1_prompt(" Who? ").endswith("<answer> Beijing </answer>. Question: Who?\n")
    assert search_r1_prompt("Who").endswith("Question: Who?\n")
    assert "as many times as your want." in search_r1_prompt("x")


# ---- ToRL ------------------------------------------------------------------------------------


class Echo:
    """Stands in for an interpreter: prints the program itself, in capitals."""

    def __init__(self):
        self.ran = []

    async def run_async(self, code):
        self.ran.append(code)
        return ProgramResult(code.upper(), "", 0, 0.1)


def play(episode, *texts):
    return [asyncio.run(episode.step(text)) for text in texts]


def block(program):
    return f"Let me compute.\n```python\n{program}\n```\n{STOP}"


def test_a_program_is_run_and_shown():
    python = Echo()
    episode = TorlEpisode(python, max_calls=2)
    assert episode.stop == (STOP,)
    assert play(episode, block("x = 1")) == [StepResult("\nX = 1\n```\n", done=False)]
    assert (python.ran, episode.calls, episode.stop) == (["x = 1\n"], 1, (STOP,))
    # After the last round comes a free generation.
    texts = block("x"), f"So {block('not run')} and the rest"
    assert [turn.done for turn in play(episode, *texts)] == [False, True]
    assert (python.ran, episode.calls, episode.stop) == (["x = 1\n", "x\n"], 2, ())


def test_without_the_stop_string_it_is_over():
    episode = TorlEpisode(Echo(), max_calls=3)
    assert play(episode, r"The answer is \boxed{7}.") == [StepResult("", done=True)]
    assert episode.calls == 0


@pytest.mark.parametrize(
    "text",
    [
        f"No program.\n{STOP}",
        f"```python\nprint(1)\n{STOP}",  # not closed
        f"```python\n```\n{STOP}",  # empty
        f"```python\n   \n```\n{STOP}",
        f"```\nprint(1)\n```\n{STOP}",  # not said to be Python
    ],
)
def test_without_a_program_a_round_is_lost(text):
    python = Echo()
    episode = TorlEpisode(python, max_calls=2)
    assert play(episode, text, text) == [StepResult("", done=False)] * 2
    assert python.ran == []
    assert episode.calls == 0
    assert episode.stop == ()


def test_no_rounds_is_no_tool():
    episode = TorlEpisode(Echo(), max_calls=0)
    assert episode.stop == ()
    assert play(episode, block("x")) == [StepResult("", done=True)]
    with pytest.raises(ValueError, match="max_calls must be at least 0, got -1"):
        TorlEpisode(Echo(), max_calls=-1)


@pytest.mark.parametrize(("code", "limit", "failed"), [(0, None, 0), (1, None, 1), (0, "time", 1)])
def test_programs_that_end_badly_are_failed_calls(code, limit, failed):
    class Ends:
        async def run_async(self, program):
            return ProgramResult("so far", "", code, 0.1, limit)

    episode = TorlEpisode(Ends(), max_calls=2)
    play(episode, block("x"))
    assert (episode.calls, episode.failed_calls) == (1, failed)


def test_token_across_the_fence_adds_no_line_end():
    (turn,) = play(TorlEpisode(Echo()), block("x") + "\n")
    assert turn.feedback == "X\n```\n"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("```python\na\n```", "a\n"),
        ("```python\na\n\n  b\n```\n", "a\n\n  b\n"),
        ("```python\na\n```\n```python\nb\n```\n", "b\n"),
        ("```python\na\n```\n```python\nb", ""),  # the last one is not closed
        ("Code: ```python\na\n```", "a\n"),  # the line ends with the fence
        ("```python3\na\n```", "a\n"),
        (" ```python x\na\n```", ""),
        ("```python\na ``` b\n```", "a ``` b\n"),
        ("```python\na\n  ```\nb\n```", "a\n  ```\nb\n"),
        ("", ""),
    ],
)
def test_the_last_closed_block_counts(text, program):
    assert last_program(text) == program


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (ProgramResult(" 42 \n", "", 0, 0.1), "42"),
        (ProgramResult("1\n2\n", "", 0, 0.1), "1\n2"),
        (ProgramResult("", "a warning", 0, 0.1), NOTHING),
        (ProgramResult("", "", 0, 0.1), NOTHING),
        (ProgramResult("", "", -9, 3.0, "time"), NOTHING),
        (ProgramResult("so far\n", "", -9, 3.0, "time"), "so far"),
        (ProgramResult("", "Traceback\n  x\nValueError: no\n", 1, 0.1), "ValueError: no"),
        (ProgramResult("12\n", "Traceback\nValueError: no\n", 1, 0.1), "12"),
        (ProgramResult("a\nError: b\nc\n", "", 0, 0.1), "c"),
        (ProgramResult("", "killed", -11, 0.1), "killed"),
        (ProgramResult("x" * 255, "", 0, 0.1), "x" * 255),
        (ProgramResult("a" * 128 + "b" * 128, "", 0, 0.1), "a" * 128 + "..." + "b" * 128),
        (ProgramResult("a" * 200 + "b" * 200, "", 0, 0.1), "a" * 128 + "..." + "b" * 128),
        (ProgramResult("", "the server stumbled", -1, 0.0, "sandbox"), "UnknownError"),
    ],
)
def test_observations(result, shown):
    assert format_observation(result) == shown


# ---- Search-R1 -------------------------------------------------------------------------------


class Shelf:
    """Stands in for a search engine: two passages about whatever is asked."""

    def __init__(self):
        self.asked = []

    async def search_async(self, query):
        self.asked.append(query)
        return [
            Document("1", f'"{query}"\nIt is.\nSo it is.', 2.0),
            Document("2", '"Other"\nNo.', 1.0),
        ]


def test_a_query_is_answered():
    shelf = Shelf()
    episode = SearchR1Episode(shelf)
    assert (episode.stop, episode.turn_tokens, episode.feedback_tokens) == (
        ("</search>", "</answer>"),
        500,
        500,
    )
    (turn,) = play(episode, "<think>hm</think><search>\n Norway </search>")
    assert turn == StepResult(
        '\n\n<information>Doc 1(Title: "Norway") It is.\nSo it is.\n'
        'Doc 2(Title: "Other") No.</information>\n\n',
        done=False,
    )
    assert shelf.asked == ["Norway"]
    assert episode.calls == 1
    assert format_documents([]) == ""


def test_an_answer_ends_it():
    for text in ("<answer> Oslo </answer>", "<answer>x</answer> <search>y</search>"):
        episode = SearchR1Episode(Shelf())
        assert play(episode, text) == [StepResult("", done=True)]
        assert episode.calls == 0


@pytest.mark.parametrize(
    "text",
    ["I think so.", "<search>never closed", "search</search>", "<answer>x</search>", ""],
)
def test_other_actions_are_reported_as_invalid(text):
    episode = SearchR1Episode(Shelf())
    assert play(episode, text) == [StepResult(INVALID, done=False)]
    assert episode.calls == 0


def test_turns_are_counted_and_the_last_one_is_free():
    shelf = Shelf()
    episode = SearchR1Episode(shelf, max_turns=2)
    turns = play(episode, "<search>a</search>", "nonsense", "<search>b</search>")
    assert [turn.done for turn in turns] == [False, False, True]
    assert turns[2].feedback == ""
    assert shelf.asked == ["a"]
    assert episode.calls == 1
    with pytest.raises(ValueError, match="max_turns must be at least 0, got -1"):
        SearchR1Episode(shelf, max_turns=-1)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a</search>b</search>", "a</search>"),
        ("a</answer>b</answer>", "a</answer>"),
        ("a</answer>b</search>c", "a</answer>b</search>"),  # queries come first
        ("a", "a"),
    ],
)
def test_text_is_cut_at_the_first_tag(text, kept):
    assert cut_after_action(text) == kept
