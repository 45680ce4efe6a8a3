#include "profgen/llvm/profile.h"

#include "llvm/IR/ProfileSummary.h"
#include "llvm/ProfileData/ProfileCommon.h"
#include "llvm/ProfileData/SampleProf.h"
#include "llvm/ProfileData/SampleProfWriter.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>
#include <memory>
#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

namespace
{

struct Thresholds {
    uint64_t hot, cold;
};

/* Builds the profile map, keeping the frames that its contexts point at. */
class Builder
{
  public:
    Builder(const csp_profile_data &source, bool withContexts)
        : data(source), contextSensitive(withContexts)
    {
    }

    void build()
    {
        samples.resize(data.node_len);
        for (size_t i = 0; i < data.node_len; i++)
            samples[i] = contextSensitive ? addContext(i) : addInlinee(i);
        for (size_t i = 0; i < data.body_len; i++) {
            const csp_profile_body &body = data.bodies[i];
            samples[body.node]->addBodySamples(body.probe, body.discriminator, body.count);
        }
        for (size_t i = 0; i < data.target_len; i++) {
            const csp_profile_target &target = data.targets[i];
            samples[target.node]->addCalledTargetSamples(target.probe, target.discriminator,
                                                         FunctionId(StringRef(target.callee)),
                                                         target.count);
        }
        if (!contextSensitive)
            for (auto &item : map)
                item.second.updateCallsiteSamples();
    }

    SampleProfileMap map;

  private:
    static void fill(FunctionSamples &to, const csp_profile_node &from)
    {
        to.setFunctionHash(from.hash);
        to.addHeadSamples(from.head);
        to.addTotalSamples(from.total);
        if (from.inlined)
            to.getContext().setAttribute(ContextWasInlined);
    }

    FunctionSamples *addContext(size_t index)
    {
        const csp_profile_node &node = data.nodes[index];
        if (!node.counted)
            return nullptr;
        frames.emplace_back();
        SampleContextFrameVector &path = frames.back();
        path.emplace_back(FunctionId(StringRef(node.function)), LineLocation(0, 0));
        uint32_t callsite = node.callsite;
        for (uint32_t up = node.parent; up != CSP_PROFILE_TOP; up = data.nodes[up].parent) {
            path.emplace_back(FunctionId(StringRef(data.nodes[up].function)),
                              LineLocation(callsite, 0));
            callsite = data.nodes[up].callsite;
        }
        std::reverse(path.begin(), path.end());
        FunctionSamples &made = map.create(SampleContext(path));
        fill(made, node);
        return &made;
    }

    FunctionSamples *addInlinee(size_t index)
    {
        const csp_profile_node &node = data.nodes[index];
        FunctionId name{StringRef(node.function)};
        FunctionSamples *made;
        if (node.parent == CSP_PROFILE_TOP) {
            made = &map.create(SampleContext(name));
        } else {
            FunctionSamplesMap &callees =
                samples[node.parent]->functionSamplesAt(LineLocation(node.callsite, 0));
            made = &callees[name];
            made->setContext(SampleContext(name));
        }
        fill(*made, node);
        made->getContext().setAllAttributes(ContextNone);
        return made;
    }

    const csp_profile_data &data;
    bool contextSensitive;
    std::vector<FunctionSamples *> samples;
    std::deque<SampleContextFrameVector> frames;
};

/* The summary is that of the profile without contexts. */
Thresholds thresholds(const SampleProfileMap &profiles, const csp_profile_options &options,
                      uint64_t &total)
{
    SampleProfileMap merged;
    const SampleProfileMap *summarised = &profiles;
    if (options.context_sensitive) {
        for (const auto &item : profiles)
            merged.create(item.second.getFunction()).merge(item.second);
        summarised = &merged;
    }
    FunctionSamples::ProfileIsCS = false;
    SampleProfileSummaryBuilder builder(ProfileSummaryBuilder::DefaultCutoffs);
    std::unique_ptr<ProfileSummary> summary = builder.computeSummaryForProfiles(*summarised);
    total = summary->getTotalCount();
    const SummaryEntryVector &detail = summary->getDetailedSummary();
    return {options.has_hot_count ? options.hot_count
                                  : ProfileSummaryBuilder::getHotCountThreshold(detail),
            options.has_cold_count ? options.cold_count
                                   : ProfileSummaryBuilder::getColdCountThreshold(detail)};
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
    for (const char *prefix : {"__cxx_global_var_init", "__tls_init"})
        if (samples.getFuncName().starts_with(prefix))
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

int csp_profile_write(const struct csp_profile_data *data,
                      const struct csp_profile_options *options, struct csp_buf *out,
                      struct csp_profile_result *result, struct csp_diag *diag)
{
    *result = {};
    FunctionSamples::ProfileIsProbeBased = true;
    FunctionSamples::ProfileIsFS = false;
    FunctionSamples::ProfileIsPreInlined = false;
    FunctionSamples::UseMD5 = false;
    FunctionSamples::ProfileIsCS = options->context_sensitive;

    Builder builder(*data, options->context_sensitive);
    builder.build();
    SampleProfileMap &profiles = builder.map;
    result->contexts = profiles.size();
    Thresholds limits = thresholds(profiles, *options, result->total_samples);
    FunctionSamples::ProfileIsCS = options->context_sensitive;

    if (!options->context_sensitive) {
        if (options->trim_cold)
            result->trimmed_functions = trimFunctions(profiles, limits.cold);
    } else {
        if (options->trim_cold || options->merge_cold)
            SampleContextTrimmer(profiles).trimAndMergeColdContextProfiles(
                limits.hot, options->trim_cold, options->merge_cold, options->cold_context_depth,
                false);
        result->merged_contexts = result->contexts - profiles.size();
        if (options->nested) {
            ProfileConverter(profiles).convertCSProfiles();
            FunctionSamples::ProfileIsCS = false;
        }
    }
    dropAmbiguous(profiles);
    if (options->mark_preinlined) {
        for (auto &item : profiles)
            item.second.setContextAttribute(ContextShouldBeInlined);
        FunctionSamples::ProfileIsPreInlined = true;
    }
    result->functions = profiles.size();
    return writeProfiles(profiles, *options, out, diag);
}
