#include "profgen/llvm/call_order.h"

#include "profgen/llvm/function_id.h"

#include "llvm/ADT/SCCIterator.h"
#include "llvm/Transforms/IPO/ProfiledCallGraph.h"

#include <algorithm>
#include <vector>

using namespace llvm;
using namespace llvm::sampleprof;

/* Names are not copied: where one is tells them apart, and MD5, the hash of one, takes its time. */
static uint64_t key(FunctionId function)
{
    return function.isStringRef() ? reinterpret_cast<uintptr_t>(function.stringRef().data())
                                  : function.getHashCode();
}

void csp_call_order(const char *const *names, size_t count, bool guids, const csp_call *calls,
                    size_t call_count, uint32_t *order)
{
    SampleProfileMap none;
    const bool contexts = FunctionSamples::ProfileIsCS;
    FunctionSamples::ProfileIsCS = false;
    ProfiledCallGraph graph(none);
    FunctionSamples::ProfileIsCS = contexts;

    DenseMap<uint64_t, uint32_t> by_name;
    for (size_t i = 0; i < count; i++) {
        FunctionId function = csp::functionId(names[i], guids);
        graph.addProfiledFunction(function);
        by_name.try_emplace(key(function), static_cast<uint32_t>(i));
    }
    DenseMap<const ProfiledCallGraphNode *, uint32_t> numbers;
    std::vector<ProfiledCallGraphNode *> nodes(count);
    for (ProfiledCallGraphNode *node : graph) {
        uint32_t number = by_name.lookup(key(node->Name));
        numbers.try_emplace(node, number);
        nodes[number] = node;
    }
    for (size_t i = 0; i < call_count; i++) {
        ProfiledCallGraphNode *caller = nodes[calls[i].caller];
        caller->Edges.emplace(caller, nodes[calls[i].callee], calls[i].weight);
    }
    size_t at = count;
    for (auto group = scc_begin(&graph); !group.isAtEnd(); ++group) {
        scc_member_iterator<ProfiledCallGraph *> members(*group);
        for (ProfiledCallGraphNode *node : *members)
            if (node != graph.getEntryNode())
                order[--at] = numbers.lookup(node);
    }
}
