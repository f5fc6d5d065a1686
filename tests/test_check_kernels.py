"""scripts/check_kernels.py reads the listings of cuobjdump."""

from scripts import check_kernels

SASS = """
        Function : _Z4rankPf
        /*0010*/                   LDG.E R2, desc[UR4][R2.64] ;
        /*0020*/              @!P0 LDS.U8 R3, [R4] ;
        /*0030*/                   LD.E R5, [R6.64] ;
"""


def test_generic_and_bytewise_accesses_of_memory_are_found():
    assert check_kernels.astray(SASS) == {("_Z4rankPf", "LD.E"): 1, ("_Z4rankPf", "LDS.U8"): 1}
