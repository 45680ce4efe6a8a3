#include "profgen/llvm/function_ids.h"

using namespace llvm;
using namespace llvm::sampleprof;

namespace csp
{

void FunctionIds::seal()
{
    bool distinct = true;
    for (const auto &item : known) {
        FunctionId name{StringRef(item.first)};
        auto added = names.try_emplace(name.getHashCode(), name);
        distinct = distinct && name.getHashCode() && added.first->second == name;
    }
    if (!distinct)
        names.clear();
    for (auto &item : known)
        item.second = numbered(FunctionId(StringRef(item.first)));
}

/* All but the context's function. */
void FunctionIds::copy(const FunctionSamples &from, FunctionSamples &to) const
{
    to.setFunctionHash(from.getFunctionHash());
    to.addHeadSamples(from.getHeadSamples());
    to.addTotalSamples(from.getTotalSamples());
    to.getContext().setAllAttributes(from.getContext().getAllAttributes());
    for (const auto &[place, record] : from.getBodySamples()) {
        to.addBodySamples(place.LineOffset, place.Discriminator, record.getSamples());
        for (const auto &[callee, count] : record.getCallTargets())
            to.addCalledTargetSamples(place.LineOffset, place.Discriminator, named(callee), count);
    }
    for (const auto &[place, types] : from.getCallsiteTypeCounts())
        for (const auto &[type, count] : types)
            to.addTypeSamplesAt(place, named(type), count);
    for (const auto &[place, callees] : from.getCallsiteSamples()) {
        FunctionSamplesMap &copies = to.functionSamplesAt(place);
        for (const auto &[callee, samples] : callees) {
            FunctionSamples &made = copies[named(callee)];
            made.setContext(SampleContext(named(samples.getFunction())));
            copy(samples, made);
        }
    }
}

SampleProfileMap FunctionIds::named(const SampleProfileMap &profiles, ContextFrames &frames) const
{
    SampleProfileMap result;
    for (const auto &item : profiles) {
        const SampleContext &context = item.second.getContext();
        if (!context.hasContext()) {
            copy(item.second, result.create(SampleContext(named(context.getFunction()))));
            continue;
        }
        frames.emplace_back();
        for (const SampleContextFrame &frame : context.getContextFrames())
            frames.back().emplace_back(named(frame.Func), frame.Location);
        copy(item.second, result.create(SampleContext(frames.back())));
    }
    return result;
}

} // namespace csp
