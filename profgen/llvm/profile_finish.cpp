#include "profgen/llvm/profile_object.h"

#include "llvm/IR/ProfileSummary.h"
#include "llvm/ProfileData/ProfileCommon.h"
#include "llvm/ProfileData/SampleProfWriter.h"
#include "llvm/Support/raw_ostream.h"

#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

namespace
{

/* Of a profile without contexts. Returns the count up to which a function is cold. */
uint64_t summarise(const csp_profile &profile, uint64_t &total)
{
    SampleProfileSummaryBuilder builder(ProfileSummaryBuilder::DefaultCutoffs);
    std::unique_ptr<ProfileSummary> summary = builder.computeSummaryForProfiles(profile.map);
    total = summary->getTotalCount();
    return ProfileSummaryBuilder::getColdCountThreshold(summary->getDetailedSummary());
}

uint64_t trimFunctions(SampleProfileMap &profiles, uint64_t threshold)
{
    std::vector<hash_code> cold;
    for (const auto &item : profiles)
        if (item.second.getTotalSamples() < threshold)
            cold.push_back(item.first);
    for (hash_code key : cold)
        profiles.erase(key);
    return cold.size();
}

/* Every translation unit has its own function of these names, so a profile of one is meaningless
 * for the others. */
bool isAmbiguous(FunctionSamples &samples)
{
    FunctionId function = samples.getFunction();
    for (const char *prefix : {"__cxx_global_var_init", "__tls_init"})
        if (function.isStringRef() && function.stringRef().starts_with(prefix))
            return true;
    for (auto &callees : const_cast<CallsiteSampleMap &>(samples.getCallsiteSamples()))
        for (auto at = callees.second.begin(); at != callees.second.end();) {
            auto callee = at++;
            if (isAmbiguous(callee->second))
                callees.second.erase(callee);
        }
    return false;
}

void dropAmbiguous(SampleProfileMap &profiles)
{
    for (auto at = profiles.begin(); at != profiles.end();) {
        auto item = at++;
        if (isAmbiguous(item->second))
            profiles.erase(item);
    }
}

void addCounts(const FunctionSamples &samples, uint64_t &count, uint64_t &places)
{
    places += samples.getBodySamples().size();
    for (const auto &body : samples.getBodySamples())
        count += body.second.getSamples();
    for (const auto &callsite : samples.getCallsiteSamples())
        for (const auto &callee : callsite.second)
            addCounts(callee.second, count, places);
}

/* See csp_profile_result.density. */
double density(const SampleProfileMap &profiles, int cutoff)
{
    struct Function {
        double density;
        uint64_t count;
    };
    std::vector<Function> functions;
    uint64_t total = 0;
    for (const auto &item : profiles) {
        uint64_t count = 0, places = 0;
        addCounts(item.second, count, places);
        if (!places)
            continue;
        functions.push_back({static_cast<double>(count) / static_cast<double>(places), count});
        total += count;
    }
    llvm::sort(functions, [](const Function &a, const Function &b) {
        return a.density != b.density ? a.density > b.density : a.count < b.count;
    });
    const float wanted = static_cast<float>(total) * static_cast<float>(cutoff) / 1000000;
    double result = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < functions.size() && static_cast<float>(sum) < wanted; i++) {
        sum += functions[i].count;
        result = functions[i].density;
    }
    return result;
}

SampleProfileFormat writerFormat(csp_profile_format format)
{
    switch (format) {
    case CSP_PROFILE_TEXT:
        return SPF_Text;
    case CSP_PROFILE_BINARY:
        return SPF_Binary;
    case CSP_PROFILE_EXTBINARY:
        break;
    }
    return SPF_Ext_Binary;
}

int writeProfiles(const SampleProfileMap &profiles, const csp_profile_options &options,
                  csp_buf *out, csp_diag *diag)
{
    SmallVector<char, 0> bytes;
    std::unique_ptr<raw_ostream> stream = std::make_unique<raw_svector_ostream>(bytes);
    auto writer = SampleProfileWriter::create(stream, writerFormat(options.format));
    if (std::error_code error = writer.getError())
        return csp_fail(diag, CSP_ERR_USAGE,
                        "libLLVM writes profiles with probes as text and extbinary only: %s",
                        error.message().c_str());
    ProfileSymbolList symbols;
    for (size_t i = 0; i < options.symbol_len; i++)
        symbols.add(options.symbols[i]);
    if (options.format == CSP_PROFILE_EXTBINARY && options.symbol_len)
        (*writer)->setProfileSymbolList(&symbols);
    if (options.format == CSP_PROFILE_EXTBINARY && options.compress)
        (*writer)->setToCompressAllSections();
    if (options.format == CSP_PROFILE_EXTBINARY && options.use_md5)
        (*writer)->setUseMD5();
    if (std::error_code error = (*writer)->write(profiles))
        return csp_fail(diag, CSP_ERR_FAILED, "cannot write the profile: %s",
                        error.message().c_str());
    csp_buf_add(out, bytes.data(), bytes.size());
    return 0;
}

} // namespace

int csp_profile_finish(struct csp_profile *profile, const struct csp_profile_options *options,
                       struct csp_buf *out, struct csp_profile_result *result,
                       struct csp_diag *diag)
{
    FunctionSamples::ProfileIsProbeBased = !profile->by_lines;
    FunctionSamples::ProfileIsFS = profile->fs_discriminators;
    FunctionSamples::ProfileIsPreInlined = profile->preinlined;
    FunctionSamples::UseMD5 = profile->md5;
    FunctionSamples::ProfileIsCS = profile->context_sensitive;
    if (!profile->context_sensitive && !profile->nested) {
        result->contexts = profile->map.size();
        uint64_t cold = summarise(*profile, result->total_samples);
        if (options->trim_cold)
            result->trimmed_functions =
                trimFunctions(profile->map, options->has_cold_count ? options->cold_count : cold);
    }
    dropAmbiguous(profile->map);
    if (options->mark_preinlined) {
        for (auto &item : profile->map)
            item.second.setContextAttribute(ContextShouldBeInlined);
        FunctionSamples::ProfileIsPreInlined = true;
    }
    result->functions = profile->map.size();
    result->density = density(profile->map, options->density_cutoff);
    return writeProfiles(profile->map, *options, out, diag);
}
