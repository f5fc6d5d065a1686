// A CUDA runtime of one device, the machine: as much as csrc/cuda calls and nvcc's launches need.
// Launches run at once, in the memory of the host. The functions for tests are at the end; see
// tests/support/ptx_machine.py.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cuda/limits.hpp"
#include "machine.hpp"

#define FOR_ALL extern "C" __attribute__((visibility("default"), used))

namespace ptx {
namespace {

struct Registered {
    std::vector<std::unique_ptr<Kernel>> kernels;
};
std::map<const void*, Kernel*>& kernels_by_host() {
    static std::map<const void*, Kernel*> kernels;
    return kernels;
}
cudaError_t last_error = cudaSuccess;
struct {
    dim3 blocks, threads;
    std::size_t shared;
    cudaStream_t stream;
} pending;
std::map<std::uint64_t, std::uint64_t> launches_by_stream;
std::string answer;
int mapping_of_tests = -1;  // the bounds of a device

template <typename T>
T at(const char* from, std::size_t offset) {
    T value;
    std::memcpy(&value, from + offset, sizeof(T));
    return value;
}

// Finds the PTX in nvcc's fat binary: a list of entries, each with its kind (1 for PTX) and size.
std::string ptx_of(const char* packed) {
    constexpr std::uint32_t kMagic = 0xba55ed50;
    if (at<std::uint32_t>(packed, 0) != kMagic) die("unknown format of nvcc's fat binary");
    const char* entry = packed + at<std::uint16_t>(packed, 6);
    const char* end = entry + at<std::uint64_t>(packed, 8);
    while (entry < end) {
        const auto header = at<std::uint32_t>(entry, 4);
        const auto bytes = at<std::uint64_t>(entry, 8);
        if (at<std::uint16_t>(entry, 0) == 1)
            return std::string(entry + header, strnlen(entry + header, bytes));
        entry += header + bytes;
    }
    die("no PTX: compile for a virtual architecture, as 90-virtual");
}

cudaError_t fail(cudaError_t status) { return last_error = status; }

cudaError_t refuse(const char* why) {
    machine.find(std::string("a launch that a GPU refuses: ") + why);
    return fail(cudaErrorInvalidConfiguration);
}

}  // namespace
}  // namespace ptx

using namespace ptx;

// In the place of csrc/cuda/limits.cpp: tests choose the bounds, and few blocks share the work, so
// that each has several jobs one after the other; unless warps are counted, as on a device.
namespace paretopo {

std::int64_t cuda::max_blocks() { return machine.is_counting ? 1 << 22 : 3; }
std::int64_t cuda::max_rows() { return 2; }

gpu::Limits limits_of(const Cuda&) {
    if (mapping_of_tests < 0) return {};
    return gpu::limits_for(static_cast<Mapping>(mapping_of_tests), gpu::kWarpLanes);
}

}  // namespace paretopo

FOR_ALL void** __cudaRegisterFatBinary(void* wrapper) {
    const char* packed = at<const char*>(static_cast<const char*>(wrapper), 8);
    return reinterpret_cast<void**>(new Registered{parse(ptx_of(packed))});
}
FOR_ALL void __cudaRegisterFatBinaryEnd(void**) {}
FOR_ALL void __cudaUnregisterFatBinary(void**) {}
FOR_ALL char __cudaInitModule(void**) { return 1; }
FOR_ALL void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
FOR_ALL void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int,
                                    uint3*, uint3*, dim3*, dim3*, int*) {
    for (const auto& kernel : reinterpret_cast<Registered*>(handle)->kernels) {
        if (kernel->name == name) kernels_by_host()[host] = kernel.get();
    }
    if (!kernels_by_host().count(host)) die(std::string("a kernel without PTX: ") + name);
}
FOR_ALL unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t shared,
                                             struct CUstream_st* stream) {
    pending = {blocks, threads, shared, stream};
    return 0;
}
FOR_ALL cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, std::size_t* shared,
                                               void* stream) {
    *blocks = pending.blocks;
    *threads = pending.threads;
    *shared = pending.shared;
    *static_cast<cudaStream_t*>(stream) = pending.stream;
    return cudaSuccess;
}
FOR_ALL cudaError_t cudaLaunchKernel(const void* host, dim3 blocks, dim3 threads, void** arguments,
                                     std::size_t shared, cudaStream_t stream) {
    const auto known = kernels_by_host().find(host);
    if (known == kernels_by_host().end()) return fail(cudaErrorInvalidDeviceFunction);
    const Kernel& kernel = *known->second;
    if (blocks.x == 0 || blocks.y == 0 || blocks.z != 1 || threads.x == 0)
        return refuse("nothing to do");
    if (threads.y != 1 || threads.z != 1 || threads.x > 1024 || threads.x % kWarpLanes != 0)
        return refuse("threads");
    if (kernel.most_threads > 0 && threads.x > kernel.most_threads)
        return refuse("more threads than it was compiled for");
    if (blocks.x > 0x7fffffff || blocks.y > 65535) return refuse("blocks");
    if (kernel.shared_bytes + shared > 48 * 1024) return refuse("shared memory");
    if (kernel.parameter_bytes > 4096) return refuse("parameters");
    std::vector<char> parameters(kernel.parameter_bytes);
    for (std::size_t k = 0; k < kernel.parameters.size(); ++k) {
        std::memcpy(parameters.data() + kernel.parameters[k].offset, arguments[k],
                    kernel.parameters[k].bytes);
    }
    ++launches_by_stream[reinterpret_cast<std::uint64_t>(stream)];
    machine.launch(kernel, {blocks.x, blocks.y, threads.x, shared}, parameters);
    return cudaSuccess;
}
FOR_ALL cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
    *kernel = static_cast<cudaKernel_t>(const_cast<void*>(host));
    return cudaSuccess;
}
FOR_ALL cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads,
                                       void** arguments, std::size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, blocks, threads, arguments, shared, stream);
}
FOR_ALL cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
FOR_ALL const char* cudaGetErrorString(cudaError_t) { return "an error of the PTX machine"; }
FOR_ALL const char* cudaGetErrorName(cudaError_t status) {
    return status == cudaSuccess ? "cudaSuccess" : "cudaErrorOfTheMachine";
}
FOR_ALL cudaError_t cudaDriverGetVersion(int* version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
FOR_ALL cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
FOR_ALL cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
FOR_ALL cudaError_t cudaSetDevice(int device) {
    return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice);
}
FOR_ALL cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                             const void* address) {
    *attributes = {};
    const auto start = reinterpret_cast<std::uint64_t>(address);
    const auto next = machine.regions.upper_bound(start);
    if (next == machine.regions.begin()) return cudaSuccess;
    const Region& region = std::prev(next)->second;
    if (start - region.start < region.bytes) attributes->type = cudaMemoryTypeDevice;
    return cudaSuccess;
}

// ---- For tests ----

// grain: bytes that belong to one lane.
FOR_ALL void ptx_lend(std::uint64_t start, std::uint64_t bytes, int grain, int is_input) {
    Region region{start, bytes, grain, is_input != 0, {}, {}};
    if (is_input == 0) {
        region.is_written.resize(bytes);
        region.cells.resize(bytes / static_cast<std::uint64_t>(grain) + 1);
    }
    machine.regions[start] = std::move(region);
}
FOR_ALL void ptx_take_back(std::uint64_t start) { machine.regions.erase(start); }
// Number of bytes that were never written.
FOR_ALL std::uint64_t ptx_unwritten(std::uint64_t start) {
    const auto& written = machine.regions.at(start).is_written;
    return static_cast<std::uint64_t>(std::count(written.begin(), written.end(), false));
}
// mapping: a Mapping, or -1 for the bounds of a device.
FOR_ALL void ptx_set(int mapping, std::uint64_t seed, int schedule, int counts,
                     std::uint64_t most_steps) {
    mapping_of_tests = mapping;
    machine.chance.seed(seed);
    machine.schedule = schedule;
    machine.is_counting = counts != 0;
    machine.most_steps = most_steps;
}
FOR_ALL void ptx_forget() {
    machine.findings.clear();
    machine.counts.clear();
    launches_by_stream.clear();
}
FOR_ALL const char* ptx_findings() {
    answer.clear();
    for (const auto& [what, times] : machine.findings)
        answer += std::to_string(times) + " times in " + what + "\n";
    return answer.c_str();
}
FOR_ALL const char* ptx_streams() {
    answer.clear();
    for (const auto& [stream, times] : launches_by_stream)
        answer += std::to_string(stream) + " " + std::to_string(times) + "\n";
    return answer.c_str();
}
// A line for each kernel, then for each of its opcodes, indented.
FOR_ALL const char* ptx_counts() {
    answer.clear();
    for (const auto& [name, counts] : machine.counts) {
        for (const std::uint64_t number : {counts.launches, counts.warps, counts.lane_instructions,
                                           counts.read, counts.written}) {
            answer += std::to_string(number) + " ";
        }
        answer += name + "\n";
        for (const auto& [opcode, times] : counts.issued)
            answer += " " + std::to_string(times) + " " + opcode + "\n";
    }
    return answer.c_str();
}
// A line for each wait of each kernel: kernel, line of the PTX, instruction.
FOR_ALL const char* ptx_waits() {
    answer.clear();
    for (const auto& [host, kernel] : kernels_by_host()) {
        for (const Instruction& in : kernel->code) {
            if (in.opcode.rfind("bar", 0) == 0)
                answer += kernel->name + " " + std::to_string(in.line) + " " + in.text + "\n";
        }
    }
    return answer.c_str();
}
// Removes the barrier at a line; line 0 restores all barriers.
FOR_ALL void ptx_leave_out(const char* name, int line) {
    static Instruction* left_out = nullptr;
    static Execute before = nullptr;
    if (left_out) left_out->execute = before;
    left_out = nullptr;
    for (const auto& [host, kernel] : kernels_by_host()) {
        for (Instruction& in : kernel->code) {
            if (line == 0 || kernel->name != name || in.line != line ||
                in.opcode.rfind("bar", 0) != 0)
                continue;
            left_out = &in;
            before = in.execute;
            in.execute = [](Lane&, const Instruction&) { return Next::kGoOn; };
        }
    }
}
