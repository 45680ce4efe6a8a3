#include "profgen/llvm/profile_contexts.h"

#include "profgen/llvm/profile_object.h"

#include <string>
#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

namespace
{

class Teller
{
  public:
    explicit Teller(const csp_profile_context_reader &callbacks) : reader(callbacks) {}

    void tell(const FunctionSamples &samples)
    {
        tellContext(samples);
        for (const auto &[place, record] : samples.getBodySamples()) {
            count(place, {nullptr, 0}, record.getSamples());
            for (const auto &[callee, calls] : record.getCallTargets())
                count(place, name(callee), calls);
        }
        for (const auto &[place, types] : samples.getCallsiteTypeCounts())
            for (const auto &[table, uses] : types)
                reader.type(reader.user, place.LineOffset, place.Discriminator, name(table), uses);
        texts.clear();
    }

  private:
    csp_profile_name name(FunctionId function)
    {
        if (function.isStringRef())
            return {function.stringRef().data(), function.stringRef().size()};
        texts.push_back(function.str());
        return {texts.back().c_str(), texts.back().size()};
    }

    void count(LineLocation place, csp_profile_name callee, uint64_t samples)
    {
        reader.count(reader.user, place.LineOffset, place.Discriminator, callee, samples);
    }

    void tellContext(const FunctionSamples &samples)
    {
        LineLocation callsite(0, 0);
        path.clear();
        for (const SampleContextFrame &frame : samples.getContext().getContextFrames()) {
            path.push_back({name(frame.Func), callsite.LineOffset, callsite.Discriminator});
            callsite = frame.Location;
        }
        const csp_profile_context told = {
            path.data(),
            path.size(),
            samples.getFunctionHash(),
            samples.getHeadSamples(),
            samples.getTotalSamples(),
            static_cast<uint8_t>(samples.getContext().getAllAttributes())};
        reader.context(reader.user, &told);
    }

    const csp_profile_context_reader &reader;
    std::vector<csp_profile_frame> path;
    std::deque<std::string> texts;
};

} // namespace

void csp_profile_contexts(const struct csp_profile *profile,
                          const struct csp_profile_context_reader *reader)
{
    Teller teller(*reader);
    for (const auto &item : profile->map)
        teller.tell(item.second);
}

struct csp_profile_data csp_profile_kind(const struct csp_profile *profile)
{
    csp_profile_data kind = {};
    kind.context_sensitive = profile->context_sensitive;
    kind.by_lines = profile->by_lines;
    kind.fs_discriminators = profile->fs_discriminators;
    kind.preinlined = profile->preinlined;
    kind.guids = profile->md5;
    return kind;
}
