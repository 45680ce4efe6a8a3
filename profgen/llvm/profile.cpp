#include "base/attempt.h"
#include "profgen/llvm/function_id.h"
#include "profgen/llvm/profile_object.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/VirtualFileSystem.h"

#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

namespace
{

bool hasContexts(const csp_profile_data &data)
{
    return data.context_sensitive && !data.nested;
}

/* Fills the profile's map. */
class Builder
{
  public:
    Builder(const csp_profile_data &source, csp_profile &target) : data(source), profile(target) {}

    void build(bool updateTotals)
    {
        samples.resize(data.node_len);
        for (size_t i = 0; i < data.node_len; i++)
            samples[i] = hasContexts(data) ? addContext(i) : addInlinee(i);
        for (size_t i = 0; i < data.body_len; i++) {
            const csp_profile_body &body = data.bodies[i];
            samples[body.node]->addBodySamples(body.probe, body.discriminator, body.count);
        }
        for (size_t i = 0; i < data.target_len; i++) {
            const csp_profile_target &target = data.targets[i];
            samples[target.node]->addCalledTargetSamples(target.probe, target.discriminator,
                                                         function(target.callee), target.count);
        }
        for (size_t i = 0; i < data.type_len; i++) {
            const csp_profile_type &type = data.types[i];
            samples[type.node]->addTypeSamplesAt(LineLocation(type.line, type.discriminator),
                                                 function(type.table), type.count);
        }
        if (!data.context_sensitive)
            settleCounts(updateTotals);
    }

  private:
    FunctionId function(const char *name) const
    {
        return csp::functionId(name, data.guids);
    }

    /* A call ran at least as often as its targets were entered. */
    void settleCounts(bool updateTotals)
    {
        for (auto &item : profile.map) {
            item.second.updateCallsiteSamples();
            if (updateTotals)
                item.second.updateTotalSamples();
        }
    }

    static void fill(FunctionSamples &to, const csp_profile_node &from)
    {
        to.setFunctionHash(from.hash);
        to.addHeadSamples(from.head);
        to.addTotalSamples(from.total);
    }

    FunctionSamples *addContext(size_t index)
    {
        const csp_profile_node *node = &data.nodes[index];
        if (!node->counted)
            return nullptr;
        profile.frames.emplace_back();
        SampleContextFrameVector &path = profile.frames.back();
        LineLocation callsite(0, 0);
        for (const csp_profile_node *at = node;; at = &data.nodes[at->parent]) {
            path.emplace_back(function(at->function), callsite);
            callsite = LineLocation(at->callsite, at->discriminator);
            if (at->parent == CSP_PROFILE_TOP)
                break;
        }
        std::reverse(path.begin(), path.end());
        SampleContext context(path);
        context.setAllAttributes(node->attributes);
        FunctionSamples &made = profile.map.create(context);
        made.setContext(context);
        fill(made, *node);
        return &made;
    }

    FunctionSamples *addInlinee(size_t index)
    {
        const csp_profile_node &node = data.nodes[index];
        FunctionId name = function(node.function);
        FunctionSamples *made;
        if (node.parent == CSP_PROFILE_TOP) {
            made = &profile.map.create(SampleContext(name));
        } else {
            FunctionSamplesMap &callees = samples[node.parent]->functionSamplesAt(
                LineLocation(node.callsite, node.discriminator));
            made = &callees[name];
            made->setContext(SampleContext(name));
        }
        made->getContext().setAllAttributes(node.attributes);
        fill(*made, node);
        return made;
    }

    const csp_profile_data &data;
    csp_profile &profile;
    std::vector<FunctionSamples *> samples;
};

} // namespace

struct csp_profile *csp_profile_build(const struct csp_profile_data *data, bool update_totals)
{
    auto made = std::make_unique<csp_profile>();
    made->context_sensitive = hasContexts(*data);
    made->nested = data->context_sensitive && data->nested;
    made->by_lines = data->by_lines;
    made->fs_discriminators = data->fs_discriminators;
    made->preinlined = data->preinlined;
    made->md5 = data->guids;
    FunctionSamples::UseMD5 = data->guids;
    FunctionSamples::ProfileIsCS = made->context_sensitive;
    FunctionSamples::ProfileIsProbeBased = !data->by_lines;
    Builder(*data, *made).build(update_totals);
    return made.release();
}

/* The buffer lives as long as the profile, whose names are in it. */
static std::error_code read_profile(csp_profile &profile, MemoryBufferRef file)
{
    profile.context = std::make_unique<LLVMContext>();
    auto files = vfs::getRealFileSystem();
    auto buffer = MemoryBuffer::getMemBuffer(file, false);
    auto reader = SampleProfileReader::create(buffer, *profile.context, *files);
    if (std::error_code error = reader.getError())
        return error;
    profile.reader = std::move(*reader);
    return profile.reader->read();
}

static void attempt(void *file)
{
    csp_profile profile;
    read_profile(profile, *static_cast<MemoryBufferRef *>(file));
}

static int refuse(const char *path, std::error_code error, struct csp_diag *diag)
{
    return csp_fail(diag, CSP_ERR_INPUT, "%s: libLLVM cannot read it as a sample profile: %s", path,
                    error.message().c_str());
}

int csp_profile_read(struct csp_profile **profile, const char *path, struct csp_diag *diag)
{
    *profile = nullptr;
    auto file = MemoryBuffer::getFileOrSTDIN(path);
    if (std::error_code error = file.getError())
        return refuse(path, error, diag);
    auto made = std::make_unique<csp_profile>();
    made->file = std::move(*file);
    MemoryBufferRef bytes = *made->file;
    if (!csp_attempt(attempt, &bytes))
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: libLLVM dies of reading it: the profile is damaged", path);
    if (std::error_code error = read_profile(*made, bytes))
        return refuse(path, error, diag);
    made->map = std::move(made->reader->getProfiles());
    made->context_sensitive = made->reader->profileIsCS();
    made->by_lines = !made->reader->profileIsProbeBased();
    made->fs_discriminators = FunctionSamples::ProfileIsFS;
    made->preinlined = made->reader->profileIsPreInlined();
    made->md5 = FunctionSamples::UseMD5;
    *profile = made.release();
    return 0;
}

bool csp_profile_has_contexts(const struct csp_profile *profile)
{
    return profile->context_sensitive;
}

void csp_profile_names(const struct csp_profile *profile, csp_profile_name_fn *each, void *user)
{
    for (const auto &item : profile->map) {
        SampleContextFrames path = item.second.getContext().getContextFrames();
        for (const SampleContextFrame &frame : path) {
            std::string name = frame.Func.str();
            each(user, name.data(), name.size());
        }
        std::string name = item.second.getFunction().str();
        each(user, name.data(), name.size());
    }
}

void csp_profile_free(struct csp_profile *profile)
{
    delete profile;
}
