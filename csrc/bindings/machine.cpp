// What the machine offers, and what of it is used.
#include <cstdint>

#include "bindings/bind.hpp"
#include "bindings/points.hpp"
#include "cpu/isa.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {

void bind_machine(py::module_& m) {
    m.def("cuda_is_compiled", &cuda::is_compiled);
    m.def("cuda_device_count", &cuda::device_count);
    m.def(
        "cuda_device_of", [](std::uintptr_t address) { return cuda::device_of(at<void>(address)); },
        "address"_a);
    m.def("cuda_driver_needed", &cuda::driver_needed);
    m.def("set_threads", &cpu::set_threads, "threads"_a);
    m.def("threads", &cpu::threads);
    m.attr("ISAS") = names(cpu::kIsaNames);
    m.def("set_isa", [](int isa) { cpu::set_isa(static_cast<cpu::Isa>(isa)); }, "isa"_a);
    m.def("isa", [] { return static_cast<int>(cpu::isa()); });
    m.def("best_isa", [] { return static_cast<int>(cpu::best_isa()); });
}

}  // namespace paretopo::bindings
