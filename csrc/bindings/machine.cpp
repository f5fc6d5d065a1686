// Devices, threads and instruction sets: those available and those in use.
#include <algorithm>
#include <cstdint>

#include "bindings/arguments.hpp"
#include "bindings/bind.hpp"
#include "cpu/lanes/isa.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/memory_limit.hpp"
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
    m.def("most_bytes", [] { return cpu::most_bytes().load(); });
    m.def("set_most_bytes", [](std::int64_t size) { cpu::most_bytes() = size; }, "size"_a);
    m.def("set_threads", &cpu::set_threads, "threads"_a);
    m.def("threads", &cpu::threads);
    py::list isas;
    for (const cpu::Isa each : cpu::isas()) isas.append(cpu::kIsaNames[static_cast<int>(each)]);
    m.attr("ISAS") = py::tuple(isas);
    m.def("set_isa", [](std::size_t isa) { cpu::set_isa(cpu::isas().at(isa)); }, "isa"_a);
    m.def("isa", [] { return std::ranges::find(cpu::isas(), cpu::isa()) - cpu::isas().begin(); });
}

}  // namespace paretopo::bindings
