__version__: str
CPU: int
COMPILER: str

class Points:
    def __init__(
        self,
        address: int,
        mask: int,
        groups: int,
        points: int,
        objectives: int,
        minimised: int,
        itemsize: int,
        device: int,
        stream: int,
    ) -> None: ...

def cuda_is_compiled() -> bool: ...
def cuda_device_count() -> int: ...
def set_threads(threads: int) -> None: ...
def threads() -> int: ...
def pareto_rank(points: Points, ranks: int) -> None: ...
def is_nondominated(points: Points, keep_weakly: bool, chosen: int) -> None: ...
def crowding_distance(points: Points, distances: int) -> None: ...
def pareto_advantage(
    points: Points,
    weights: int,
    largest: float,
    beta: float,
    center: int,
    advantages: int,
    ranks: int,
    scratch: int,
    emulated_lanes: int = 0,
) -> None: ...
def hypervolume(points: Points, ref: int, volumes: int) -> int: ...
def hv_contributions(
    points: Points, ref: int, ignore_dominated: bool, contributions: int
) -> int: ...
def hv_gain(points: Points, ref: int, gains: int) -> int: ...
