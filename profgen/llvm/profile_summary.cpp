#include "profgen/llvm/profile_summary.h"

#include "llvm/IR/ProfileSummary.h"
#include "llvm/ProfileData/ProfileCommon.h"
#include "llvm/ProfileData/SampleProf.h"

using namespace llvm;

csp_profile_summary csp_profile_summarise(const uint64_t *counts, size_t count)
{
    /* Whose counts they are is not asked. */
    sampleprof::FunctionSamples all;
    for (size_t i = 0; i < count; i++)
        all.addBodySamples(static_cast<uint32_t>(i), 0, counts[i]);
    SampleProfileSummaryBuilder builder(ProfileSummaryBuilder::DefaultCutoffs);
    builder.addRecord(all);
    std::unique_ptr<ProfileSummary> summary = builder.getSummary();
    const SummaryEntryVector &detail = summary->getDetailedSummary();
    return {summary->getTotalCount(), ProfileSummaryBuilder::getHotCountThreshold(detail),
            ProfileSummaryBuilder::getColdCountThreshold(detail),
            ProfileSummaryBuilder::getEntryForPercentile(detail, 100000).MinCount};
}
