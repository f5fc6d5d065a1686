// paretopo_core._core: a table of contents.
#include "bindings/bind.hpp"
#include "bindings/unlocked.hpp"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
    m.doc() = "Compiled kernels of paretopo_core. Private: takes raw addresses.";
    paretopo::bindings::remember_main_thread();
    paretopo::bindings::translate_interrupts();
    m.attr("__version__") = PARETOPO_VERSION;
    m.attr("COMPILER") = PARETOPO_COMPILER;
    paretopo::bindings::bind_machine(m);
    paretopo::bindings::bind_operations(m);
    paretopo::bindings::bind_attainment(m);
    paretopo::bindings::bind_archive(m);
}
