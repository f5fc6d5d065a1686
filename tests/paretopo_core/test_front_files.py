"""read_fronts: files as other programs write them."""

import json
import sys

import numpy as np
import pytest

import paretopo_core as pp

FRONT = [[0.25, 4.0], [1e-3, 5.0]]

# As the programs of these names write a front.
TEXTS = {
    "moocore.dat": "0.25 4\n1e-3 5\n",
    "eaf.txt": "# run 1\n0.25\t4\n0.001\t5\n\n",
    "pisa.txt": "\n\n0.25 4.0 \n0.001 5.0 \n",
    "FUN.tsv": "0.25\t4.0\t\n0.001\t5.0\t\n",
    "FUN.csv": "0.25,4.0\n0.001,5.0\n",
    "FUN.ZDT1": "0.25 4.0 \n0.001 5.0 ",
    "latin1.dat": "# Gr\udcfc\udcdfe\n% 50 % of 9\n0.25 4\n0.001 5\n",
    "savetxt.csv": "# F\n2.5e-01,4.0e+00\n1.0e-03,5.0e+00\n",
    "names.csv": '"f1","f2"\r\n0.25,4\r\n0.001,5\r\n',
    "semicolons.csv": "\ufefff1;f2\n0.25; 4\n0.001; 5 # the last\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_many_programs_is_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode("utf-8", "surrogateescape"))
    (front,) = pp.read_fronts(path)
    assert front.dtype == np.float64
    assert front.tolist() == FRONT
    assert pp.read_fronts(str(path))[0].tolist() == FRONT


def test_blank_lines_part_the_sets(tmp_path):
    path = tmp_path / "runs"
    path.write_text("1 2\n# a comment parts nothing\n3 inf\n\n\n 5 6\n \t\n7 -8e2\n\n")
    fronts = pp.read_fronts(path)
    assert [front.tolist() for front in fronts] == [[[1, 2], [3, np.inf]], [[5, 6]], [[7, -800]]]


def test_fronts_of_one_file_have_volumes(tmp_path):
    """jMetalPy#33, jMetalPy#119, jMetalPy#85."""
    path = tmp_path / "runs"
    path.write_text("1 2\n2 1\n\n0 0\n")
    assert [pp.hypervolume(f, ref=3, maximise=False) for f in pp.read_fronts(path)] == [3, 9]


def test_solutions_of_platypus_are_read(tmp_path):
    solutions = [{"variables": [[True], 0.5], "objectives": f, "constraints": []} for f in FRONT]
    path = tmp_path / "result.json"
    for held in (solutions, {"algorithm": {"name": "NSGAII", "nfe": 100}, "result": solutions}):
        path.write_text(json.dumps(held))
        assert [front.tolist() for front in pp.read_fronts(path)] == [FRONT]


def test_arrays_of_numpy_are_read(tmp_path):
    front = np.array(FRONT)
    for name, arrays in (
        ("pymoo.npz", {"X": np.zeros((2, 30)), "F": front}),
        ("one.npz", {"objectives": front.astype(np.float32)}),
        ("runs.npz", {"F": np.stack([front, front + 1])}),
        ("no_pickle_is_read.npz", {"X": np.array([None]), "F": front}),
    ):
        np.savez(tmp_path / name, **arrays)
        first, *_ = fronts = pp.read_fronts(tmp_path / name)
        np.testing.assert_allclose(first, front, rtol=1e-7)
        assert len(fronts) == (2 if name == "runs.npz" else 1)
    np.save(tmp_path / "front.npy", front)
    assert pp.read_fronts(tmp_path / "front.npy")[0].tolist() == FRONT


def test_last_populations_of_paretobench_are_read(tmp_path, monkeypatch):
    h5py = pytest.importorskip("h5py")
    front = np.array(FRONT)
    path = tmp_path / "runs.h5"
    with h5py.File(path, "w") as file:
        for name, f in (("run_0", front), ("run_1", front + 1)):
            run = file.create_group(name)
            run["f"] = np.concatenate([np.zeros((3, 2)), f])
            run.attrs["pop_sizes"] = [3, 2]
    assert [each.tolist() for each in pp.read_fronts(path)] == [FRONT, (front + 1).tolist()]
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"runs\.h5: no HDF5 file of ParetoBench"):
        pp.read_fronts(path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="need h5py: pip install h5py"):
        pp.read_fronts(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no points"),
        ("# nothing\n\n", "holds no points"),
        ("1 2\n3\n", "line 2 must hold 2 numbers as above, got 1"),
        ("1,2\n3,,4\n", "line 2 must hold numbers, got ''"),
        ("1 2\nf1 f2\n", "line 2 must hold numbers, got 'f1'"),
        ("a b\nc d\n", "line 2 must hold numbers, got 'c'"),
        ("f1 f2\n1 x\n", "line 2 must hold numbers, got 'x'"),
        ("1 2\n3 1_000\n", "line 2 must hold numbers, got '1_000'"),
        ("1 2\n3 \u0664\n", "line 2 must hold numbers, got '\u0664'"),
        (",f1,f2\n0,1,2\n", "line 1 has a column without a name, as pandas writes its index"),
        (",0,1\n0,1.5,2.0\n", "line 1 has a column without a name"),
        ("0,1\n0.5,1.5\n", "'0,1' counts the columns, as pandas does .*header=False"),
        ("1 2\n50% 3\n", "line 2 must hold numbers, got '50%': write 50 % as 0.5"),
        ("50 % 3\n", "line 1 must hold numbers, got '%': write 50 % as 0.5"),
        ("1 2 % end\n", "line 1 must hold numbers, got '%': .* begin a comment after"),
        ("model,f1\nA,1\n", r"line 2 must .*, got 'A': keep only columns of numbers"),
        ("1 9007199254740993\n", "line 1 holds integers from 9007199254740993 .* cannot hold"),
        ("1,5;2,5\n", "line 1 must hold numbers, got '1,5'"),
    ],
)
def test_text_that_is_no_front_is_refused_by_its_line(tmp_path, text, message):
    path = tmp_path / "front.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        pp.read_fronts(path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"\xff\xfe\x00", r"line 1 must hold numbers, got '\\udcff"),
        ("a.json", b"{", "a.json: "),
        ("a.json", b"[" * 100_000, "a.json: "),
        ("a.json", b'{"points": []}', "must hold a list of solutions"),
        ("a.json", b"[[1, 2]]", "solution 0 must have a list of numbers as its objectives"),
        ("a.json", b'[{"objectives": [1, true]}]', "solution 0 must have a list of numbers"),
        ("a.json", b'[{"objectives": [1]}, {"objectives": [1, 2]}]', "solution 1 must have 1 obj"),
        ("a.json", b"[]", "holds no points"),
        ("a.json", b'[{"objectives": [1, 1152921504606846977]}]', "solution 0 holds integers"),
        ("a.json", b'[{"objectives": [1' + 400 * b"0" + b"]}]", "solution 0 holds integers from 2"),
        ("a.npz", b"PK\x03\x04", "no file of NumPy's arrays"),
        ("a.npy", b"\x93NUMPY", "no file of NumPy's arrays"),
    ],
)
def test_other_files_are_refused(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        pp.read_fronts(tmp_path / name)


def test_arrays_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    for arrays, message in (
        ({"X": np.zeros((2, 2)), "Y": np.zeros((2, 2))}, r"one called F, got \['X', 'Y'\]"),
        ({"F": np.zeros(3)}, r"got dtype float64 and shape \(3,\)"),
        ({"F": np.array([["1", "2"]])}, "must hold real numbers"),
        ({"F": np.array([[1, None]])}, "with a pickle in it"),
        ({}, r"must hold one array, or one called F, got \[\]"),
        ({"X": np.array([None]), "Y": np.zeros((2, 2))}, r"got \['X', 'Y'\]"),
        ({"F": np.array([[2**60 + 1, 1]])}, "F holds integers from 1 to 1152921504606846977"),
        ({"f": np.array([[2**63]], np.uint64)}, "f holds integers from 9223372036854775808 to"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(ValueError, match=message):
            pp.read_fronts(path)


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        pp.read_fronts(tmp_path / "none")
