#include "cpu/volume/hypervolume_of_sides.hpp"

#include <utility>

namespace paretopo::cpu {

namespace {

// The kernel that this thread used last, kept so that a small set needs no allocation.
struct Idle {
    Isa isa = Isa::kPortable;
    int objectives = 0;
    std::unique_ptr<HypervolumeKernel> kernel;
};
thread_local Idle idle;

std::unique_ptr<HypervolumeKernel> take_kernel(int objectives) {
    if (idle.kernel && idle.isa == isa() && idle.objectives == objectives) {
        return std::move(idle.kernel);
    }
    return std::unique_ptr<HypervolumeKernel>(kernels().set_volumes.make(objectives));
}

constexpr std::size_t kMaxIdleBytes = std::size_t{4} << 20;

}  // namespace

HypervolumeOfSides::HypervolumeOfSides(int objectives) : objectives_(objectives) {}
HypervolumeOfSides::HypervolumeOfSides(const HypervolumeOfSides& other)
    : objectives_(other.objectives_) {}

HypervolumeOfSides::~HypervolumeOfSides() {
    if (kernel_ && kernel_->bytes() <= kMaxIdleBytes) {
        idle = {isa_, objectives_, std::move(kernel_)};
    }
}

HypervolumeKernel& HypervolumeOfSides::kernel() {
    if (!kernel_) {
        isa_ = isa();
        kernel_ = take_kernel(objectives_);
    }
    return *kernel_;
}

double HypervolumeOfSides::of(const double* sides, std::size_t count) {
    return kernel().of(sides, count, objectives_);
}

double HypervolumeOfSides::exclusive(const double* point, const double* sides, std::size_t count) {
    return kernel().exclusive(point, sides, count, objectives_);
}

void HypervolumeOfSides::contributions(const double* sides, std::size_t count, std::size_t first,
                                       std::size_t end, double* own) {
    kernel().contributions(sides, count, objectives_, first, end, own);
}

void HypervolumeOfSides::nondominated(const double* sides, std::size_t count, std::uint8_t* kept) {
    kernel().nondominated(sides, count, objectives_, kept);
}

}  // namespace paretopo::cpu
