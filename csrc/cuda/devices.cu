#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "cuda/errors.hpp"
#include "ops.hpp"

namespace paretopo::cuda {
namespace {

std::string version(int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

bool is_about_the_driver(cudaError_t status) {
    return status == cudaErrorInsufficientDriver || status == cudaErrorUnsupportedPtxVersion ||
           status == cudaErrorNoKernelImageForDevice ||
           status == cudaErrorCompatNotSupportedOnDevice;
}

}  // namespace

// Every driver of a CUDA major version runs code compiled with any of its minor versions. Returns
// the first driver of each major version:
// https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
std::string driver_needed() {
    constexpr int kMajor = CUDART_VERSION / 1000;
    const char* first = kMajor >= 13 ? "580" : (kMajor == 12 ? "525" : "450");
    return std::string("NVIDIA driver ") + first + " or later (CUDA " + std::to_string(kMajor) +
           ".x)";
}

void check(cudaError_t status, const char* while_doing) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // clear the error, or the next successful call reports it again
    std::string message = std::string("CUDA error while ") + while_doing + ": " +
                          cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")";
    if (is_about_the_driver(status)) {
        int driver = 0;
        cudaDriverGetVersion(&driver);
        cudaGetLastError();
        message += "; this paretopo_core was built with CUDA " + version(CUDART_VERSION) +
                   " and needs " + driver_needed() + ", the machine has " +
                   (driver == 0 ? "no driver" : "one for CUDA " + version(driver)) +
                   ": update it, or move the data to the CPU";
    }
    throw std::runtime_error(message);
}

bool is_compiled() { return true; }

int device_count() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    cudaGetLastError();  // no driver, or an old one: no devices, and clear the error
    return 0;
}

int device_of(const void* at) {
    if (!at) {
        int current = 0;
        check(cudaGetDevice(&current), "asking for the current device");
        return current;
    }
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, at), "asking where an array lives");
    if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged) {
        throw std::invalid_argument(
            "the array says that it lives on a GPU, but its memory does not");
    }
    return attributes.device;
}

}  // namespace paretopo::cuda
