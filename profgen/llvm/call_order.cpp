#include "profgen/llvm/call_order.h"

#include "profgen/llvm/function_id.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Transforms/IPO/ProfiledCallGraph.h"

#include <algorithm>
#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

void csp_call_order(const char *const *names, size_t count, bool guids, const csp_call *calls,
                    size_t call_count, uint32_t *order)
{
    SampleProfileMap none;
    const bool contexts = FunctionSamples::ProfileIsCS;
    FunctionSamples::ProfileIsCS = false;
    ProfiledCallGraph graph(none);
    FunctionSamples::ProfileIsCS = contexts;

    DenseMap<uint64_t, uint32_t> numbers;
    for (size_t i = 0; i < count; i++) {
        FunctionId function = csp::functionId(names[i], guids);
        graph.addProfiledFunction(function);
        numbers.try_emplace(function.getHashCode(), static_cast<uint32_t>(i));
    }
    auto number = [&](const ProfiledCallGraphNode *node) {
        return numbers.lookup(node->Name.getHashCode());
    };
    std::vector<ProfiledCallGraphNode *> nodes(count);
    for (ProfiledCallGraphNode *node : graph)
        nodes[number(node)] = node;
    for (size_t i = 0; i < call_count; i++) {
        ProfiledCallGraphNode *caller = nodes[calls[i].caller];
        caller->Edges.emplace(caller, nodes[calls[i].callee], calls[i].weight);
    }
    size_t at = count;
    for (auto group = scc_begin(&graph); !group.isAtEnd(); ++group) {
        scc_member_iterator<ProfiledCallGraph *> members(*group);
        for (ProfiledCallGraphNode *node : *members)
            if (node != graph.getEntryNode())
                order[--at] = number(node);
    }
}
