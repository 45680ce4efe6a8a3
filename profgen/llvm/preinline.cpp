#include "profgen/llvm/preinline_run.h"

#include "profgen/units.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Transforms/IPO/ProfiledCallGraph.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

/* A trie from a function outwards to its callers, so that a context which the binary does not have
 * finds the nearest one. Edges are numbered as libLLVM does it: by the function's GUID and the
 * callsite in one hash. */
struct csp_inline_sizes {
    struct Node {
        std::optional<uint32_t> size;
        uint32_t firstChild = 0; /* that of the smallest edge; 0: none */
        uint64_t firstEdge = UINT64_MAX;
    };

    static uint64_t edgeOf(LineLocation callsite, uint64_t guid)
    {
        return FunctionSamples::getCallSiteHash(FunctionId(guid), callsite);
    }

    /* 0: no such child. */
    uint32_t child(uint32_t node, LineLocation callsite, uint64_t guid) const
    {
        return children.lookup({node, edgeOf(callsite, guid)});
    }

    uint32_t makeChild(uint32_t node, LineLocation callsite, uint64_t guid)
    {
        uint64_t edge = edgeOf(callsite, guid);
        uint32_t &made = children[{node, edge}];
        if (!made) {
            made = static_cast<uint32_t>(nodes.size());
            nodes.emplace_back();
            Node &parent = nodes[node];
            if (edge <= parent.firstEdge) {
                parent.firstEdge = edge;
                parent.firstChild = made;
            }
        }
        return made;
    }

    uint64_t guidOf(const char *name)
    {
        uint64_t &guid = guids[name];
        if (!guid)
            guid = MD5Hash(StringRef(name));
        return guid;
    }

    std::vector<Node> nodes{1};
    DenseMap<std::pair<uint32_t, uint64_t>, uint32_t> children; /* node, edge */
    DenseMap<const char *, uint64_t> guids;
};

csp_inline_sizes *csp_inline_sizes_create(void)
{
    return new csp_inline_sizes;
}

void csp_inline_sizes_destroy(csp_inline_sizes *sizes)
{
    delete sizes;
}

void csp_inline_sizes_add(csp_inline_sizes *sizes, const csp_sized_frame *frames, size_t count,
                          uint32_t bytes)
{
    uint32_t node = 0;
    for (size_t i = 0; i < count; i++) {
        LineLocation callsite(i ? frames[i].callsite : 0, i ? frames[i].discriminator : 0);
        node = sizes->makeChild(node, callsite, sizes->guidOf(frames[i].function));
    }
    std::optional<uint32_t> &size = sizes->nodes[node].size;
    size = size.value_or(0) + bytes;
}

namespace
{

struct Candidate {
    const FunctionSamples *samples;
    uint64_t calls;
    uint64_t cost;
};

/* Free code first, then by calls; ties are broken so that the order is always the same. */
struct LessUrgent {
    bool operator()(const Candidate &a, const Candidate &b) const
    {
        if ((a.cost == 0) != (b.cost == 0))
            return b.cost == 0;
        if (a.calls != b.calls)
            return a.calls < b.calls;
        if (a.cost != b.cost)
            return a.cost > b.cost;
        return a.samples->getGUID() < b.samples->getGUID();
    }
};

using Queue = std::priority_queue<Candidate, std::vector<Candidate>, LessUrgent>;

class PreInliner
{
  public:
    PreInliner(SampleContextTracker &profiles, const csp::FunctionIds &functions,
               const csp::ZeroFill &zeroFill, const csp_preinline_options &how,
               const csp_preinline_thresholds &limits, csp_inline_sizes *known)
        : tracker(profiles), ids(functions), zeros(zeroFill), options(how), thresholds(limits),
          sizes(known)
    {
    }

    /* Returns how many contexts the compiler cannot inline as it sees one unit at a time. */
    uint64_t run()
    {
        for (FunctionId name : callersFirst())
            processFunction(name);
        for (ContextTrieNode *node : tracker) {
            FunctionSamples *samples = node->getFunctionSamples();
            if (samples && node->getParentContext() != &tracker.getRootContext() &&
                !samples->getContext().hasState(InlinedContext))
                node->setFunctionSamples(nullptr);
        }
        return otherUnits;
    }

  private:
    /* Cold calls are left out of the call graph, which makes the order more stable. */
    std::vector<FunctionId> callersFirst()
    {
        std::vector<FunctionId> order;
        ProfiledCallGraph graph(tracker, thresholds.cold);
        sortByName(graph);
        for (auto at = scc_begin(&graph); !at.isAtEnd(); ++at) {
            scc_member_iterator<ProfiledCallGraph *> members(*at);
            for (ProfiledCallGraphNode *node : *members)
                if (node != graph.getEntryNode())
                    order.push_back(ids.numbered(node->Name));
        }
        std::reverse(order.begin(), order.end());
        return order;
    }

    /* Functions that call each other come in the order of their names. */
    void sortByName(ProfiledCallGraph &graph)
    {
        std::vector<ProfiledCallGraphNode *> nodes(graph.begin(), graph.end());
        for (ProfiledCallGraphNode *node : nodes)
            node->Name = ids.named(node->Name);
        nodes.push_back(graph.getEntryNode());
        for (ProfiledCallGraphNode *node : nodes)
            node->Edges = {node->Edges.begin(), node->Edges.end()};
    }

    /* The size in the longest context that the binary has; of a function that it has only inlined
     * elsewhere, the size there. */
    std::optional<uint32_t> sizeOf(const ContextTrieNode *context)
    {
        uint32_t at = 0;
        std::optional<uint32_t> size;
        LineLocation callsite(0, 0);
        while (context->getParentContext()) {
            uint32_t next = sizes->child(at, callsite, context->getFuncName().getHashCode());
            if (!next)
                break;
            at = next;
            if (sizes->nodes[at].size)
                size = sizes->nodes[at].size;
            callsite = context->getCallSiteLoc();
            context = context->getParentContext();
        }
        if (!at && !options.borrow_sizes)
            return size;
        while (!size && sizes->nodes[at].firstChild) {
            at = sizes->nodes[at].firstChild;
            size = sizes->nodes[at].size;
        }
        return size;
    }

    uint32_t costOf(const ContextTrieNode *context)
    {
        if (sizes)
            if (std::optional<uint32_t> size = sizeOf(context))
                return *size;
        return static_cast<uint32_t>(zeros.places(*context->getFunctionSamples()));
    }

    void addCandidates(Queue &queue, const FunctionSamples *caller, const FunctionSamples &inliner)
    {
        ContextTrieNode *node = tracker.getContextNodeForProfile(caller);
        for (auto &child : node->getAllChildContext()) {
            const FunctionSamples *callee = child.second.getFunctionSamples();
            if (!callee)
                continue;
            if (options.units &&
                !csp_units_can_inline(options.units, inliner.getGUID(), callee->getGUID())) {
                otherUnits++;
                continue;
            }
            uint64_t calls = 0;
            if (auto targets = caller->findCallTargetMapAt(child.second.getCallSiteLoc())) {
                auto found = targets->find(callee->getFunction());
                if (found != targets->end())
                    calls = found->second;
            }
            queue.push(
                {callee, std::max(calls, callee->getHeadSamplesEstimate()), costOf(&child.second)});
        }
    }

    /* Up to which cost to inline: the hotter, the more. */
    uint64_t costLimit(const Candidate &candidate, bool wasInlined) const
    {
        if (candidate.calls <= thresholds.cold)
            return static_cast<unsigned>(options.cold_threshold);
        double lower = static_cast<double>(thresholds.cold);
        double hotness = (static_cast<double>(candidate.calls) - lower) /
                         (static_cast<double>(thresholds.upper) - lower);
        hotness = std::min(hotness, 1.0);
        auto limit = static_cast<unsigned>(options.hot_threshold * hotness * 100 +
                                           options.cold_threshold + 1);
        return wasInlined ? limit * static_cast<unsigned>(options.previous_multiplier) : limit;
    }

    bool shouldInline(const Candidate &candidate) const
    {
        bool wasInlined = candidate.samples->getContext().hasAttribute(ContextWasInlined);
        if (options.replay)
            return wasInlined;
        return candidate.cost < costLimit(candidate, wasInlined);
    }

    void processFunction(FunctionId name)
    {
        FunctionSamples *samples = tracker.getBaseSamplesFor(name);
        if (!samples)
            return;
        unsigned size = costOf(tracker.getContextNodeForProfile(samples));
        unsigned limit = size * static_cast<unsigned>(options.growth_limit);
        limit = std::min(limit, static_cast<unsigned>(options.limit_max));
        limit = std::max(limit, static_cast<unsigned>(options.limit_min));
        Queue queue;
        addCandidates(queue, samples, *samples);
        while (!queue.empty() && size < limit) {
            Candidate candidate = queue.top();
            queue.pop();
            if (!shouldInline(candidate))
                continue;
            tracker.markContextSamplesInlined(candidate.samples);
            candidate.samples->getContext().setAttribute(ContextShouldBeInlined);
            size += static_cast<unsigned>(candidate.cost);
            addCandidates(queue, candidate.samples, *samples);
        }
    }

    SampleContextTracker &tracker;
    const csp::FunctionIds &ids;
    const csp::ZeroFill &zeros;
    const csp_preinline_options &options;
    const csp_preinline_thresholds &thresholds;
    csp_inline_sizes *sizes;
    uint64_t otherUnits = 0;
};

} // namespace

uint64_t csp_preinline_run(SampleContextTracker &tracker, const csp::FunctionIds &ids,
                           const csp::ZeroFill &zeros, const csp_preinline_options &options,
                           const csp_preinline_thresholds &thresholds, csp_inline_sizes *sizes)
{
    return PreInliner(tracker, ids, zeros, options, thresholds, sizes).run();
}
