/* Functions as numbers while a profile is made. Between the C++ files of this folder.
 *
 * libLLVM hashes a function's name (MD5) each time it looks for it in a map, and while contexts are
 * merged it looks for little else. It takes the hashes themselves, GUIDs, in the place of names:
 * all its maps are the same then, but for those that it sorts by name. */
#ifndef CSP_PROFGEN_LLVM_FUNCTION_IDS_H
#define CSP_PROFGEN_LLVM_FUNCTION_IDS_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ProfileData/FunctionId.h"
#include "llvm/ProfileData/SampleProf.h"

#include <deque>

namespace csp
{

using ContextFrames = std::deque<llvm::sampleprof::SampleContextFrameVector>;

class FunctionIds
{
  public:
    /* Before `seal`: that there is a function of that name. It lives as long as this does. */
    void add(const char *name)
    {
        known.try_emplace(name);
    }
    void seal();
    bool used() const
    {
        return !names.empty();
    }
    /* The number of a name that was added. */
    llvm::sampleprof::FunctionId of(const char *name) const
    {
        return known.lookup(name);
    }

    llvm::sampleprof::FunctionId named(llvm::sampleprof::FunctionId number) const
    {
        return used() ? names.lookup(number.getHashCode()) : number;
    }
    llvm::sampleprof::FunctionId numbered(llvm::sampleprof::FunctionId name) const
    {
        return used() ? llvm::sampleprof::FunctionId(name.getHashCode()) : name;
    }
    /* The same profiles with names; `frames` is what their contexts point at. */
    llvm::sampleprof::SampleProfileMap named(const llvm::sampleprof::SampleProfileMap &profiles,
                                             ContextFrames &frames) const;

  private:
    void copy(const llvm::sampleprof::FunctionSamples &from,
              llvm::sampleprof::FunctionSamples &to) const;

    llvm::DenseMap<const char *, llvm::sampleprof::FunctionId> known;
    llvm::DenseMap<uint64_t, llvm::sampleprof::FunctionId> names; /* empty: all are names */
};

} // namespace csp

#endif
