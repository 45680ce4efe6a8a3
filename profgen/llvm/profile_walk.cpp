#include "profgen/llvm/profile_walk.h"

#include "profgen/llvm/profile_object.h"

#include <map>
#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

namespace
{

class Walker
{
  public:
    Walker(csp_profile_entry_fn *callback, void *argument) : each(callback), user(argument) {}

    void top(const FunctionSamples &samples)
    {
        path.clear();
        SampleContextFrames frames = samples.getContext().getContextFrames();
        LineLocation callsite(0, 0);
        for (const SampleContextFrame &frame : frames) {
            step(frame.Func, callsite);
            callsite = frame.Location;
        }
        if (frames.empty())
            step(samples.getFunction(), callsite);
        visit(samples);
    }

  private:
    void step(FunctionId function, LineLocation callsite)
    {
        csp_profile_step made = {function.getHashCode(), nullptr, 0, callsite.LineOffset,
                                 callsite.Discriminator};
        if (function.isStringRef()) {
            made.name = function.stringRef().data();
            made.name_length = function.stringRef().size();
        }
        path.push_back(made);
    }

    /* Nesting a callee takes its calls out of the counts at the callsite: they come back here, so
     * that a place has the same count whether its callee is nested, called or both. */
    void collectPlaces(const FunctionSamples &samples)
    {
        std::map<LineLocation, uint64_t> counts;
        for (const auto &body : samples.getBodySamples())
            counts[body.first] += body.second.getSamples();
        for (const auto &callsite : samples.getCallsiteSamples())
            for (const auto &callee : callsite.second)
                counts[callsite.first] += callee.second.getHeadSamplesEstimate();
        places.clear();
        for (const auto &count : counts)
            places.push_back({count.first.LineOffset, count.first.Discriminator, count.second});
    }

    void visit(const FunctionSamples &samples)
    {
        collectPlaces(samples);
        const csp_profile_entry entry = {path.data(),
                                         path.size(),
                                         samples.getFunctionHash(),
                                         samples.getHeadSamples(),
                                         samples.getTotalSamples(),
                                         places.data(),
                                         places.size()};
        each(user, &entry);
        for (const auto &callsite : samples.getCallsiteSamples()) {
            for (const auto &callee : callsite.second) {
                step(callee.first, callsite.first);
                visit(callee.second);
                path.pop_back();
            }
        }
    }

    csp_profile_entry_fn *each;
    void *user;
    std::vector<csp_profile_step> path;
    std::vector<csp_profile_place> places;
};

} // namespace

void csp_profile_walk(const struct csp_profile *profile, csp_profile_entry_fn *each, void *user)
{
    Walker walker(each, user);
    for (const auto &item : profile->map)
        walker.top(item.second);
}

bool csp_profile_is_by_lines(const struct csp_profile *profile)
{
    return profile->by_lines;
}
