/* Between the C++ files of this folder: what struct csp_profile is. */
#ifndef CSP_PROFGEN_LLVM_PROFILE_OBJECT_H
#define CSP_PROFGEN_LLVM_PROFILE_OBJECT_H

#include "profgen/llvm/profile.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/ProfileData/SampleProf.h"
#include "llvm/ProfileData/SampleProfReader.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>
#include <memory>

struct csp_profile {
    llvm::sampleprof::SampleProfileMap map;
    bool nested = false; /* made of contexts, which it no longer has */
    bool context_sensitive = false, by_lines = false, fs_discriminators = false;
    bool preinlined = false, md5 = false;
    /* What the contexts in the map point at. */
    std::deque<llvm::sampleprof::SampleContextFrameVector> frames;
    std::unique_ptr<llvm::MemoryBuffer> file; /* that was read: the reader's names are in it */
    std::unique_ptr<llvm::LLVMContext> context;
    std::unique_ptr<llvm::sampleprof::SampleProfileReader> reader;
};

#endif
