#include "profgen/llvm/names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/ProfileData/SampleProf.h"
#include "llvm/Support/MD5.h"

using namespace llvm;
using sampleprof::FunctionSamples;

uint64_t csp_name_guid(const char *name, size_t length)
{
    return MD5Hash(StringRef(name, length));
}

size_t csp_name_canonical(const char *name)
{
    return FunctionSamples::getCanonicalFnName(StringRef(name)).size();
}

size_t csp_name_canonical_symbol(const char *name)
{
    /* Coroutine splitting; function splitting; control-flow integrity; LTO, partial inlining and
     * cloning, the last first. */
    const StringRef suffixes[] = {".cfi",   ".cleanup",    ".destroy",  ".resume",
                                  ".cold",  ".warm",       ".llvm.",    ".part.",
                                  ".isra.", ".constprop.", ".lto_priv."};
    return FunctionSamples::getCanonicalFnName(StringRef(name), suffixes).size();
}

uint32_t csp_discriminator_base(uint32_t discriminator)
{
    return DILocation::getBaseDiscriminatorFromDiscriminator(discriminator, false);
}

uint32_t csp_discriminator_factor(uint32_t discriminator)
{
    return DILocation::getDuplicationFactorFromDiscriminator(discriminator);
}
