/* Places with a count of zero, by the set. Between the C++ files of this folder.
 *
 * In each context a function has all its probes, and most of them never ran there. Until contexts
 * are merged, one mark stands for all zeros of a set: libLLVM takes over a hundred bytes for a
 * place. It merges marks as it does places. */
#ifndef CSP_PROFGEN_LLVM_ZERO_FILL_H
#define CSP_PROFGEN_LLVM_ZERO_FILL_H

#include "profgen/llvm/profile.h"

#include "llvm/ProfileData/SampleProf.h"

#include <vector>

namespace csp
{

class ZeroFill
{
  public:
    /* Copies the sets. */
    void keep(const csp_profile_data &data);
    /* Makes the places of a set known in a function's profile. Its lowest place is there at once:
     * libLLVM takes a function's first place for its entry. */
    void mark(llvm::sampleprof::FunctionSamples &samples, uint32_t set) const;
    /* How many places a profile has. */
    size_t places(const llvm::sampleprof::FunctionSamples &samples) const;
    /* Replaces marks by places. */
    void expand(llvm::sampleprof::FunctionSamples &samples) const;

  private:
    using Place = llvm::sampleprof::LineLocation;
    /* Sorts behind all places. */
    static constexpr uint32_t Mark = UINT32_MAX;

    std::vector<std::vector<Place>> sets; /* each sorted */
    bool marks = false;                   /* no place looks like a mark */
};

} // namespace csp

#endif
