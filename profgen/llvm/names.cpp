#include "profgen/llvm/names.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/ProfileData/SampleProf.h"
#include "llvm/Support/MD5.h"

#include <cstring>

using namespace llvm;
using sampleprof::FunctionSamples;

uint64_t csp_name_guid(const char *name, size_t length)
{
    return MD5Hash(StringRef(name, length));
}

/* FunctionSamples::getCanonicalFnName: takes suffixes off, the last that a pass adds first, each if
 * the name's last dot is the suffix's own. */
static size_t canonical(StringRef name, std::initializer_list<StringRef> suffixes)
{
    for (StringRef suffix : suffixes) {
        const void *last = memrchr(name.data(), '.', name.size());
        if (!last)
            break;
        size_t dot = static_cast<size_t>(static_cast<const char *>(last) - name.data());
        if (name.substr(dot).starts_with(suffix))
            name = name.take_front(dot);
        else if (name.take_front(dot + 1).ends_with(suffix))
            name = name.take_front(dot + 1 - suffix.size());
    }
    return name.size();
}

size_t csp_name_canonical(const char *name)
{
    if (FunctionSamples::HasUniqSuffix)
        return canonical(name, {FunctionSamples::LLVMSuffix, FunctionSamples::PartSuffix});
    return canonical(name, {FunctionSamples::LLVMSuffix, FunctionSamples::PartSuffix,
                            FunctionSamples::UniqSuffix});
}

size_t csp_name_canonical_symbol(const char *name)
{
    /* Coroutine splitting; function splitting; control-flow integrity; LTO, partial inlining and
     * cloning. */
    return canonical(name, {".cfi", ".cleanup", ".destroy", ".resume", ".cold", ".warm", ".llvm.",
                            ".part.", ".isra.", ".constprop.", ".lto_priv."});
}

uint32_t csp_discriminator_base(uint32_t discriminator)
{
    return DILocation::getBaseDiscriminatorFromDiscriminator(discriminator, false);
}

uint32_t csp_discriminator_factor(uint32_t discriminator)
{
    return DILocation::getDuplicationFactorFromDiscriminator(discriminator);
}
