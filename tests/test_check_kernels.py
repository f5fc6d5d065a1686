"""scripts/check_kernels.py reads the listings of cuobjdump."""

import pytest

from scripts import check_kernels

USAGE = """
arch = sm_90
 Function _Z4rankPf:
  REG:78 STACK:0 SHARED:1024 LOCAL:0 CONSTANT[0]:592 TEXTURE:0 SURFACE:0 SAMPLER:0
arch = sm_75
 Function _Z4rankPf:
  REG:64 STACK:16 SHARED:0 LOCAL:8 CONSTANT[0]:416 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
SASS = """
        Function : _Z4rankPf
        /*0010*/                   LDG.E R2, desc[UR4][R2.64] ;
        /*0020*/              @!P0 LDS.U8 R3, [R4] ;
        /*0030*/                   LD.E R5, [R6.64] ;
"""


def test_kernels_are_read_for_each_target():
    new, old = check_kernels.kernels(USAGE)
    assert (new.target, new.registers, new.stack, new.shared, new.local) == (
        "sm_90",
        78,
        0,
        1024,
        0,
    )
    assert (old.target, old.registers, old.stack, old.local) == ("sm_75", 64, 16, 8)


@pytest.mark.parametrize(
    ("registers", "target", "warps", "most"),
    [
        (16, "sm_90", 64, 64),
        (32, "sm_90", 64, 64),
        (33, "sm_90", 51, 64),  # a warp takes 1,280 registers, not 1,056
        (78, "sm_90", 25, 64),
        (64, "sm_75", 32, 32),
        (80, "sm_89", 25, 48),
        (255, "sm_120", 8, 48),
    ],
)
def test_registers_leave_room_for_warps(registers, target, warps, most):
    kernel = check_kernels.Kernel("rank", target, registers, 0, 0, 0)
    assert kernel.occupancy == pytest.approx(warps / most)


def test_accesses_of_memory_of_any_kind_are_found():
    assert check_kernels.astray(SASS) == {("_Z4rankPf", "LD.E"): 1, ("_Z4rankPf", "LDS.U8"): 1}
