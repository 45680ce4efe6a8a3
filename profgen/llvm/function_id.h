/* Between the C++ files of this folder. */
#ifndef CSP_PROFGEN_LLVM_FUNCTION_ID_H
#define CSP_PROFGEN_LLVM_FUNCTION_ID_H

#include "llvm/ProfileData/FunctionId.h"

#include <cstdlib>

namespace csp
{

/* A function by name, which is not copied; or by its GUID in decimal, where there are no names. */
inline llvm::sampleprof::FunctionId functionId(const char *name, bool isGuid)
{
    if (isGuid)
        return llvm::sampleprof::FunctionId(std::strtoull(name, nullptr, 10));
    return llvm::sampleprof::FunctionId(llvm::StringRef(name));
}

} // namespace csp

#endif
