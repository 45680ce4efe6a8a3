/* Between the C++ files of this folder: what struct csp_profile is. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_OBJECT_H
#define CSP_PROFGEN_LLVM_PROFILE_OBJECT_H

#include "profgen/llvm/function_ids.h"
#include "profgen/llvm/profile.h"
#include "profgen/llvm/zero_fill.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/ProfileData/SampleProf.h"
#include "llvm/ProfileData/SampleProfReader.h"

#include <memory>
#include <vector>

namespace csp
{

/* A profile by contexts as it is built: a tree, parents before their children. In libLLVM's map
 * each context is a list of all its callers, which take more memory than the counts. */
struct ContextNode {
    llvm::sampleprof::FunctionId function;
    uint32_t parent;                            /* or CSP_PROFILE_TOP */
    llvm::sampleprof::LineLocation callsite;    /* in the parent */
    llvm::sampleprof::FunctionSamples *samples; /* null: only a step on the path to others */
};

} // namespace csp

struct csp_profile {
    std::vector<csp::ContextNode> tree; /* until it is finished; what is in it is not in the map */
    std::deque<llvm::sampleprof::FunctionSamples> tree_samples;
    llvm::sampleprof::SampleProfileMap map;
    bool context_sensitive = false, by_lines = false, fs_discriminators = false;
    bool preinlined = false, md5 = false;
    /* What the contexts in the map point at. */
    csp::ContextFrames frames;
    csp::ZeroFill zeros;  /* of contexts that are not merged yet */
    csp::FunctionIds ids; /* of the functions in the map, until it is finished */
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<llvm::sampleprof::SampleProfileReader> reader;
};

#endif
