#include "profgen/llvm/preinline_run.h"
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

struct Thresholds {
    uint64_t hot, cold;
    uint64_t hottest; /* the count that a tenth of all counts reach */
};

/* The summary is that of the profile without contexts. */
Thresholds thresholds(const csp_profile &profile, const csp_profile_options &options,
                      uint64_t &total)
{
    SampleProfileMap merged;
    const SampleProfileMap *summarised = &profile.map;
    if (profile.context_sensitive) {
        for (const FunctionSamples &samples : profile.tree_samples)
            merged.create(samples.getFunction()).merge(samples);
        for (const auto &item : profile.map)
            merged.create(item.second.getFunction()).merge(item.second);
        summarised = &merged;
    }
    FunctionSamples::ProfileIsCS = false;
    SampleProfileSummaryBuilder builder(ProfileSummaryBuilder::DefaultCutoffs);
    std::unique_ptr<ProfileSummary> summary = builder.computeSummaryForProfiles(*summarised);
    FunctionSamples::ProfileIsCS = profile.context_sensitive;
    total = summary->getTotalCount();
    const SummaryEntryVector &detail = summary->getDetailedSummary();
    return {options.has_hot_count ? options.hot_count
                                  : ProfileSummaryBuilder::getHotCountThreshold(detail),
            options.has_cold_count ? options.cold_count
                                   : ProfileSummaryBuilder::getColdCountThreshold(detail),
            ProfileSummaryBuilder::getEntryForPercentile(detail, 100000).MinCount};
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

/* Moves the profiles of a trie, whose contexts may have changed, into a map. */
void collect(ContextTrieNode &node, SampleContextFrameVector &path, csp_profile &profile,
             SampleProfileMap &map)
{
    if (FunctionSamples *samples = node.getFunctionSamples()) {
        path.emplace_back(node.getFuncName(), LineLocation(0, 0));
        profile.frames.push_back(path);
        SampleContextFrames context = profile.frames.back();
        auto made = map.emplace(context, std::move(*samples));
        made.first->second.getContext().setContext(context);
        path.pop_back();
    }
    for (auto &child : node.getAllChildContext()) {
        path.emplace_back(node.getFuncName(), child.second.getCallSiteLoc());
        collect(child.second, path, profile, map);
        path.pop_back();
    }
}

/* From the tree to the map, where each context has all its callers. */
void spread(csp_profile &profile)
{
    for (const csp::ContextNode &node : profile.tree) {
        if (!node.samples)
            continue;
        profile.frames.emplace_back();
        SampleContextFrameVector &path = profile.frames.back();
        LineLocation callsite(0, 0);
        for (const csp::ContextNode *at = &node;; at = &profile.tree[at->parent]) {
            path.emplace_back(at->function, callsite);
            callsite = at->callsite;
            if (at->parent == CSP_PROFILE_TOP)
                break;
        }
        std::reverse(path.begin(), path.end());
        SampleContext context(path);
        context.setAllAttributes(node.samples->getContext().getAllAttributes());
        FunctionSamples &made = profile.map.create(context);
        made = std::move(*node.samples);
        made.setContext(context);
    }
    profile.tree.clear();
    profile.tree_samples.clear();
}

/* Puts the tree into a tracker, which has one of the same shape. */
void track(const csp_profile &profile, SampleContextTracker &tracker)
{
    std::vector<ContextTrieNode *> nodes;
    for (const csp::ContextNode &node : profile.tree) {
        ContextTrieNode *parent =
            node.parent == CSP_PROFILE_TOP ? &tracker.getRootContext() : nodes[node.parent];
        nodes.push_back(parent->getOrCreateChildContext(node.callsite, node.function));
        nodes.back()->setFunctionSamples(node.samples);
    }
    tracker.populateFuncToCtxtMap();
}

uint64_t preinline(csp_profile &profile, const csp_profile_options &options,
                   const Thresholds &limits)
{
    SampleContextTracker tracker(profile.map, nullptr);
    if (!profile.tree.empty())
        track(profile, tracker);
    uint64_t otherUnits = csp_preinline_run(
        tracker, profile.ids, profile.zeros, options.preinline, {limits.cold, limits.hottest},
        options.preinline.by_context_cost ? options.sizes : nullptr);
    SampleProfileMap result;
    SampleContextFrameVector path;
    for (auto &child : tracker.getRootContext().getAllChildContext())
        collect(child.second, path, profile, result);
    profile.map = std::move(result);
    profile.tree.clear();
    profile.tree_samples.clear();
    profile.preinlined = true;
    return otherUnits;
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

void finishContexts(csp_profile &profile, const csp_profile_options &options,
                    const Thresholds &limits, csp_profile_result &result)
{
    bool merge = options.merge_cold;
    if (options.preinline.enabled) {
        result.other_unit_contexts = preinline(profile, options, limits);
        merge = merge && options.merge_cold_given;
    } else {
        spread(profile);
    }
    if (options.trim_cold || merge)
        SampleContextTrimmer(profile.map)
            .trimAndMergeColdContextProfiles(limits.hot, options.trim_cold, merge,
                                             options.cold_context_depth, options.preinline.enabled);
    for (auto &item : profile.map)
        profile.zeros.expand(item.second);
    result.merged_contexts = result.contexts - profile.map.size();
    if (options.nested) {
        ProfileConverter(profile.map).convertCSProfiles();
        FunctionSamples::ProfileIsCS = false;
    }
}

} // namespace

int csp_profile_finish(struct csp_profile *profile, const struct csp_profile_options *options,
                       struct csp_buf *out, struct csp_profile_result *result,
                       struct csp_diag *diag)
{
    *result = {};
    FunctionSamples::ProfileIsProbeBased = !profile->by_lines;
    FunctionSamples::ProfileIsFS = profile->fs_discriminators;
    FunctionSamples::ProfileIsPreInlined = profile->preinlined;
    FunctionSamples::UseMD5 = profile->md5;
    FunctionSamples::ProfileIsCS = profile->context_sensitive;

    result->contexts = profile->map.size() + profile->tree_samples.size();
    Thresholds limits = thresholds(*profile, *options, result->total_samples);
    if (profile->context_sensitive)
        finishContexts(*profile, *options, limits, *result);
    else if (options->trim_cold)
        result->trimmed_functions = trimFunctions(profile->map, limits.cold);
    FunctionSamples::ProfileIsPreInlined = profile->preinlined;
    if (profile->ids.used())
        profile->map = profile->ids.named(profile->map, profile->frames);
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
