#include "profgen/llvm/zero_fill.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace llvm;
using namespace llvm::sampleprof;

namespace csp
{

void ZeroFill::keep(const csp_profile_data &data)
{
    sets.resize(data.zero_set_len);
    marks = true;
    for (size_t i = 0; i < data.zero_len; i++) {
        std::vector<Place> &set = sets[data.zeros[i].set];
        if (!set.empty())
            continue;
        const csp_profile_zero_set &from = data.zero_sets[data.zeros[i].set];
        for (size_t place = 0; place < from.len; place++)
            set.emplace_back(from.places[place].probe, from.places[place].discriminator);
        llvm::sort(set);
        marks = marks && (set.empty() || set.back().LineOffset != Mark);
    }
    for (size_t i = 0; i < data.body_len; i++)
        marks = marks && data.bodies[i].probe != Mark;
    for (size_t i = 0; i < data.target_len; i++)
        marks = marks && data.targets[i].probe != Mark;
}

void ZeroFill::mark(FunctionSamples &samples, uint32_t set) const
{
    const std::vector<Place> &places = sets[set];
    size_t count = marks && !places.empty() ? 1 : places.size();
    for (size_t i = 0; i < count; i++)
        samples.addBodySamples(places[i].LineOffset, places[i].Discriminator, 0);
    if (count < places.size())
        samples.addBodySamples(Mark, set, 0);
}

size_t ZeroFill::places(const FunctionSamples &samples) const
{
    const BodySampleMap &body = samples.getBodySamples();
    auto first = marks ? body.lower_bound(Place(Mark, 0)) : body.end();
    if (first == body.end())
        return body.size();
    size_t count = body.size();
    std::set<Place> others;
    for (auto at = first; at != body.end(); ++at) {
        count--;
        for (const Place &place : sets[at->first.Discriminator])
            if (!body.count(place))
                others.insert(place);
    }
    return count + others.size();
}

void ZeroFill::expand(FunctionSamples &samples) const
{
    if (!marks)
        return;
    auto &body = const_cast<BodySampleMap &>(samples.getBodySamples());
    auto first = body.lower_bound(Place(Mark, 0));
    std::vector<uint32_t> marked;
    for (auto at = first; at != body.end(); ++at)
        marked.push_back(at->first.Discriminator);
    body.erase(first, body.end());
    for (uint32_t set : marked)
        for (const Place &place : sets[set])
            body[place];
}

} // namespace csp
