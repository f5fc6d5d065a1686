#include "cpu/volume.hpp"

#include "cpu/isa.hpp"

namespace paretopo::cpu {

namespace portable {
VolumeEngine* make_volume_engine(int objectives);
}
namespace avx2 {
VolumeEngine* make_volume_engine(int objectives);
}
namespace avx512 {
VolumeEngine* make_volume_engine(int objectives);
}

namespace {

VolumeEngine* make_engine(int objectives) {
#if defined(PARETOPO_X86_LANES)
    if (isa() == Isa::kAvx512) return avx512::make_volume_engine(objectives);
    if (isa() == Isa::kAvx2) return avx2::make_volume_engine(objectives);
#endif
    return portable::make_volume_engine(objectives);
}

// The engine that this thread used last: its scratch is warm, and a small set pays no allocation.
struct Idle {
    Isa isa = Isa::kPortable;
    int objectives = 0;
    std::unique_ptr<VolumeEngine> engine;
};
thread_local Idle idle;

std::unique_ptr<VolumeEngine> take_engine(int objectives) {
    if (idle.engine && idle.isa == isa() && idle.objectives == objectives) {
        return std::move(idle.engine);
    }
    return std::unique_ptr<VolumeEngine>(make_engine(objectives));
}

constexpr std::size_t kMostIdleBytes = std::size_t{4} << 20;

}  // namespace

VolumeEngine::~VolumeEngine() = default;

std::unique_ptr<VolumeEngine> make_volume_engine(int objectives) {
    return std::unique_ptr<VolumeEngine>(make_engine(objectives));
}

Volume::Volume(int objectives) : objectives_(objectives) {}
Volume::Volume(const Volume& other) : objectives_(other.objectives_) {}

Volume::~Volume() {
    if (engine_ && engine_->bytes() <= kMostIdleBytes) {
        idle = {isa_, objectives_, std::move(engine_)};
    }
}

VolumeEngine& Volume::engine() {
    if (!engine_) {
        isa_ = isa();
        engine_ = take_engine(objectives_);
    }
    return *engine_;
}

double Volume::of(const double* sides, std::size_t count) {
    return engine().of(sides, count, objectives_);
}

double Volume::exclusive(const double* point, const double* sides, std::size_t count) {
    return engine().exclusive(point, sides, count, objectives_);
}

void Volume::contributions(const double* sides, std::size_t count, std::size_t first,
                           std::size_t end, double* own) {
    engine().contributions(sides, count, objectives_, first, end, own);
}

void Volume::nondominated(const double* sides, std::size_t count, std::uint8_t* kept) {
    engine().nondominated(sides, count, objectives_, kept);
}

}  // namespace paretopo::cpu
