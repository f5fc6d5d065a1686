"""The names that other libraries give to our functions, and the errors that translate them."""

from __future__ import annotations

import re
import sys
from opcode import opname
from types import ModuleType
from typing import Any, NoReturn

# The line to write, and the names of other libraries for it. Case and underscores do not matter.
_LINES = {
    "points[pp.is_nondominated(points)]": (
        "filter_dominated filter_nondominated find_nondominated nondominated_front "
        "nondominated_points pareto_filter pareto_front pareto_points pareto_set"
    ),
    "pp.is_nondominated(points)": (
        "is_efficient is_not_dominated is_pareto is_pareto_efficient is_pareto_front "
        "is_pareto_optimal nondominated nondominated_mask pareto_mask"
    ),
    "~pp.is_nondominated(points)": "is_dominated",
    "pp.pareto_rank([a, b])[1] == 1": "dominates pareto_dominance",
    "pp.pareto_rank(points)": (
        "fast_nondominated_sort fast_nondominated_sorting nds nondominated_rank "
        "nondominated_ranks nondominated_sort nondominated_sorting pareto_fronts pareto_ranking "
        "pareto_ranks pareto_sort rank ranks sort_log_nondominated sort_nondominated"
    ),
    "pp.crowding_distance(points)": "assign_crowding_dist crowding crowding_dist",
    "pp.hypervolume(points, ref)": "hv hv_indicator hypervolume_indicator dominated_volume wfg",
    "pp.hypervolume_contributions(points, ref)": (
        "contributions exclusive_hypervolume hvc hv_contribution hv_contributions "
        "hypervolume_contrib hypervolume_contribution"
    ),
    "pp.hypervolume_contributions(points, ref).argmin()": "least_contributor",
    "pp.hypervolume_approx(points, ref)": (
        "approx_hypervolume approximate_hypervolume estimate_hypervolume hv_approx "
        "hypervolume_estimate hypervolume_mc hypervolume_monte_carlo hypervolume_qmc "
        "mc_hypervolume monte_carlo_hypervolume"
    ),
    "pp.hypervolume_contributions_approx(points, ref)": (
        "approximate_contributions approximate_hypervolume_contributions hv_contributions_approx"
    ),
    "pp.hypervolume_subset(points, ref, k=k)": (
        "hssp hv_subset hypervolume_subset_selection select_subset solve_hssp subset_selection"
    ),
    "pp.select(points, k=k)": "environmental_selection select_best selNSGA2 survival truncate",
    "pp.hypervolume_gradient(points, ref)": "grad_hypervolume hv_gradient hypervolume_grad",
    "pp.hypervolume_hessian(points, ref)": "hv_hessian",
    "pp.hypervolume_improvement(points, boxes=pp.nondominated_boxes(front, ref))": (
        "hvi hv_improvement"
    ),
    "pp.expected_hypervolume_improvement("
    "means, deviations, boxes=pp.nondominated_boxes(front, ref))": "ehvi",
    "pp.nondominated_boxes(points, ref)": (
        "box_decomposition fast_nondominated_partitioning nondominated_partitioning"
    ),
    "pp.dominated_boxes(points, ref)": "dominated_partitioning",
    "pp.inverted_generational_distance(points, target)": "igd inverse_generational_distance",
    "pp.inverted_generational_distance_plus(points, target)": "igd_plus",
    "pp.generational_distance(points, target)": "gd",
    "pp.generational_distance_plus(points, target)": "gd_plus",
    "pp.average_hausdorff_distance(points, target)": (
        "averaged_hausdorff_distance avg_hausdorff_dist avg_hausdorff_distance hausdorff "
        "hausdorff_distance"
    ),
    "pp.epsilon_additive(points, target)": "additive_epsilon epsilon epsilon_indicator",
    "pp.epsilon_multiplicative(points, target)": "epsilon_mult multiplicative_epsilon",
    "pp.r2_indicator(points, ideal)": "r2 r2_exact",
    "pp.attainment_surfaces(points, sets)": (
        "attainment attainment_function attainment_surface eaf empirical_attainment_function"
    ),
    "pp.ideal_point(points)": "ideal utopia_point utopian_point",
    "pp.nadir_point(points)": "nadir",
    "pp.reference_point(points)": "infer_reference_point ref_point",
    "pp.normalise(points)": "min_max_scale rescale scale",
    "pp.knee_points(points)": "knee knee_point",
    "pp.reference_directions(objectives, partitions)": "das_dennis ref_dirs weight_vectors",
    "pp.ParetoArchive(ref) or pp.ParetoArchive(objectives=3)": (
        "Archive hall_of_fame nondominated_archive"
    ),
    "pp.read_fronts(path)": "load_front load_fronts read_datasets read_front",
    "pp.plot_front(points)": "plot plot_pareto plot_pareto_front scatter",
    "pp.threads(count)": "n_jobs n_threads num_threads set_num_threads set_threads",
    "pp.get_threads()": "get_num_threads",
    "from paretopo_core import minimise as pp": "Minimise minimize",
    "archive.add(point)": "add_point add_solution append insert push",
    "archive.extend(points)": "add_all add_batch add_many add_points append_many update",
    "archive.gain(points)": "gains hypervolume_improvement improvement",
    "archive.points": "data front members pareto_front solutions values",
    "archive.hypervolume": "hv volume",
    "archive.ref": "reference reference_point ref_point",
    "archive.remove(point)": "delete discard pop",
    "len(archive)": "count size",
}
# The meaning of an argument, and the names of other libraries for it.
_ARGUMENTS = {
    "points": ("the points are points=", "costs data f front objectives solutions x y"),
    "ref": ("the reference point is ref=", "r reference reference_point ref_point"),
    "target": (
        "the target set is target=",
        "pareto_front pf ref reference reference_front reference_set ref_set true_front z",
    ),
    "k": (
        "the number of points is k=",
        "count n num n_points num_points n_select n_survive size subset_size",
    ),
    "partitions": ("the number of parts of each axis is partitions=", "n n_partitions n_points p"),
    "samples": ("the number of samples is samples=", "n n_samples num_samples"),
    "rng": ("the source of random numbers is rng=", "generator random_state seed"),
    "duplicates": (
        "which of equal points are kept is duplicates=, 'all', 'first' or 'none'",
        "deduplicate keep_duplicates keep_weakly",
    ),
    "dominance": ("weak or strict dominance is dominance=", "strict weak"),
    "violation": ("constraint violations are violation=", "constraints cv g"),
    "n_below": ("the points to rank at least are n_below=", "n_stop_if_ranked"),
    "sets": ("the run of each point is sets=", "run_ids runs"),
    "boxes": ("the boxes are boxes=", "partitioning"),
    "directions": ("the directions are directions=", "ref_dirs reference_directions"),
    "sigma": ("the standard deviation of the noise is sigma=", "noise std"),
    "maximise": ("whether larger is better is maximise=", "directions sense senses sign signs"),
    "capacity": ("the largest number of members is capacity=", "maxlen max_size size"),
    "objectives": ("the number of objectives is objectives=", "n_obj n_objectives num_objectives"),
}


def _collapse(name: str) -> str:
    return name.lower().replace("_", "").replace("iz", "is")


def suggest_argument(name: str, known: list[str]) -> str:
    """Return the meaning and our name of an unknown argument, or nothing."""
    for right, (meaning, others) in _ARGUMENTS.items():
        if right in known and _collapse(name) in _collapse(others).split():
            return meaning
    return ""


def _suggest_line(name: str, handle: str, known: list[str]) -> str:
    if name in known:
        return f"{handle}.{name}"
    if name.startswith("_"):
        return ""
    for one in (name, re.sub("^(get|calc|calculate|compute)_", "", name)):
        for own in known:
            if _collapse(one) == _collapse(own):
                return f"{handle}.{own}"
        for line, others in _LINES.items():
            is_here = ("archive" in line) == (handle == "archive")
            if is_here and _collapse(one) in _collapse(others).split():
                return line
    return ""


def refuse_attribute(owner: Any, name: str, known: list[str], way: str = "") -> NoReturn:
    """Raise the error for an attribute that a module or an archive does not have.

    The owner's ``__getattr__`` calls it. ``known`` are our names; ``way`` says how to import them,
    if the owner does not have them.
    """
    is_module = isinstance(owner, ModuleType)
    holder = f"module {owner.__name__!r}" if is_module else type(owner).__name__
    line = _suggest_line(name, "pp" if is_module else "archive", known)
    if not line:  # Python itself suggests a name that is spelt nearly the same
        raise AttributeError(f"{holder} has no attribute {name!r}", name=name, obj=owner)
    if holder.endswith("minimise'"):
        line = line.replace("pp.", "minimise.")
    elif "(points" in line and is_module:
        line += ", with maximise=False if smaller is better"
    message = f"{holder} has no attribute {name!r}; {way}write {line}"
    caller = sys._getframe(2)
    if opname[caller.f_code.co_code[caller.f_lasti]] == "IMPORT_FROM":
        raise ImportError(message, name=name)  # `from` would replace an AttributeError
    raise AttributeError(message, name=name)
