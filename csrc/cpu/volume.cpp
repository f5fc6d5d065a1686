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

}  // namespace

VolumeEngine::~VolumeEngine() = default;

Volume::Volume(int objectives) : objectives_(objectives), engine_(make_engine(objectives)) {}
Volume::Volume(const Volume& other) : Volume(other.objectives_) {}

double Volume::of(const double* sides, std::size_t count) {
    return engine_->of(sides, count, objectives_);
}

double Volume::exclusive(const double* point, const double* sides, std::size_t count) {
    return engine_->exclusive(point, sides, count, objectives_);
}

void Volume::contributions(const double* sides, std::size_t count, std::size_t first,
                           std::size_t end, double* own) {
    engine_->contributions(sides, count, objectives_, first, end, own);
}

}  // namespace paretopo::cpu
