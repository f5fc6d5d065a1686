// The archive, call by call.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "cpu/archive/recorded_archive.hpp"
#include "target.hpp"

namespace paretopo::fuzz {

template <typename Scalar>
void run(Bytes& bytes) {
    const bool is_wild = bytes.next() % 4 == 0;
    const bool is_large = bytes.next() % 16 == 0;
    const Input<Scalar> in(
        bytes, is_large ? Sizes{{1, 1}, {33, 300}, {2, 6}} : Sizes{{1, 1}, {0, 33}, {1, 7}},
        !is_wild);
    const std::size_t width = in.objectives();
    const std::vector<double> ref = read_references(bytes, in);
    std::vector<double> signs;
    for (int m = 0; m < in.batch.objectives; ++m) signs.push_back(in.sign(m));
    const bool keeps_history = bytes.next() % 2 == 0;
    std::vector<std::uint8_t> calls(in.rows());
    for (std::uint8_t& call : calls) call = bytes.next();
    const auto make = [&](bool keeps) {
        return std::make_unique<cpu::RecordedArchive>(in.batch.objectives, signs.data(), ref.data(),
                                                      keeps);
    };

    check_instruction_sets(in, bytes, [&](Results& results) {
        auto archive = make(keeps_history);
        const auto other = make(false);
        std::vector<double> answers;
        const auto add = [&](cpu::RecordedArchive& to, const double* point) {
            const cpu::Archive::Addition added = to.add(point);
            answers.insert(answers.end(), {added.gain, added.has_joined ? 1.0 : 0.0});
        };
        for (std::size_t at = 0; at < in.rows(); ++at) {
            const std::vector<double> point(in.row(at), in.row(at) + width);
            // Python refuses points that are not finite.
            if (!std::all_of(point.begin(), point.end(), [](double v) { return std::isfinite(v); }))
                continue;
            try {
                switch (calls[at] % 16) {
                    case 0:
                        answers.push_back(archive->gain(point.data()));
                        break;
                    case 1:
                        answers.push_back(archive->remove(point.data()));
                        break;
                    case 2:
                        if (const auto members = archive->members(); !members.empty()) {
                            const std::size_t place = calls[at] / 16 % (members.size() / width);
                            answers.push_back(archive->remove(members.data() + place * width));
                        }
                        break;
                    case 3: {
                        auto copy = make(keeps_history);
                        copy->load(archive->state());
                        archive = std::move(copy);
                        break;
                    }
                    case 4: {
                        const std::vector<double> members = other->members();
                        for (std::size_t i = 0; i < members.size(); i += width) {
                            add(*archive, members.data() + i);
                        }
                        break;
                    }
                    case 5:
                    case 6:
                    case 7:
                        add(*other, point.data());
                        break;
                    default:
                        add(*archive, point.data());
                }
            } catch (const std::domain_error&) {  // the point is too far from the reference
                answers.push_back(-1.0);
            }
        }
        for (cpu::RecordedArchive* each : {archive.get(), other.get()}) {
            const cpu::RecordedArchive::State state = each->state();
            answers.insert(answers.end(), {state.volume, static_cast<double>(state.additions)});
            results.add(state.contents.members.rows);
            results.add(state.contents.members.arrivals);
            results.add(state.history);
        }
        results.add(answers);
    });
}

}  // namespace paretopo::fuzz
