#include "profgen/llvm/debug_info.h"

#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/DebugInfo/DWARF/DWARFDie.h"
#include "llvm/DebugInfo/DWARF/DWARFUnit.h"
#include "llvm/Object/Binary.h"
#include "llvm/Object/ObjectFile.h"

#include <memory>
#include <vector>

using namespace llvm;

struct csp_debug_info {
    object::OwningBinary<object::ObjectFile> object;
    std::unique_ptr<DWARFContext> context;
    DIInliningInfo stack;
    std::vector<csp_inline_frame> frames;
};

int csp_debug_info_open(struct csp_debug_info **info, const char *path, const char *dwp_path,
                        struct csp_diag *diag)
{
    *info = nullptr;
    auto object = object::ObjectFile::createObjectFile(path);
    if (!object)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", path, toString(object.takeError()).c_str());
    auto warn = [diag, path](Error error) {
        csp_warn(diag, "%s: debug information: %s", path, toString(std::move(error)).c_str());
    };
    auto made = std::make_unique<csp_debug_info>();
    made->object = std::move(*object);
    made->context = DWARFContext::create(*made->object.getBinary(),
                                         DWARFContext::ProcessDebugRelocations::Process, nullptr,
                                         dwp_path ? dwp_path : "", warn, warn);
    *info = made.release();
    return 0;
}

void csp_debug_info_close(struct csp_debug_info *info)
{
    delete info;
}

size_t csp_debug_info_units(struct csp_debug_info *info)
{
    return info->context->getNumCompileUnits();
}

static void visit_unit(DWARFUnit &unit, csp_subprogram_fn *each, void *user)
{
    for (const auto &entry : unit.dies()) {
        DWARFDie die(&unit, &entry);
        if (!die.isSubprogramDIE())
            continue;
        const char *name = die.getName(DINameKind::LinkageName);
        if (!name)
            name = die.getName(DINameKind::ShortName);
        if (!name)
            continue;
        auto ranges = die.getAddressRanges();
        if (!ranges) {
            consumeError(ranges.takeError());
            continue;
        }
        for (const auto &range : *ranges)
            if (range.LowPC < range.HighPC)
                each(user, name, range.LowPC, range.HighPC);
    }
}

void csp_debug_info_subprograms(struct csp_debug_info *info, csp_subprogram_fn *each, void *user)
{
    for (const auto &unit : info->context->compile_units())
        visit_unit(*unit, each, user);
    /* With split DWARF the functions are in the .dwo or .dwp file of a skeleton unit. */
    for (const auto &unit : info->context->compile_units()) {
        if (!unit->getDWOId())
            continue;
        DWARFUnit *split = unit->getNonSkeletonUnitDIE(false).getDwarfUnit();
        if (split && split->isDWOUnit())
            visit_unit(*split, each, user);
    }
}

size_t csp_debug_info_frames(struct csp_debug_info *info, uint64_t address,
                             const struct csp_inline_frame **frames)
{
    DILineInfoSpecifier wanted(DILineInfoSpecifier::FileLineInfoKind::RawValue,
                               DILineInfoSpecifier::FunctionNameKind::LinkageName);
    info->stack = info->context->getInliningInfoForAddress(
        {address, object::SectionedAddress::UndefSection}, wanted);
    info->frames.clear();
    for (uint32_t i = 0; i < info->stack.getNumberOfFrames(); i++) {
        const DILineInfo &frame = info->stack.getFrame(i);
        info->frames.push_back(
            {frame.FunctionName.c_str(), frame.Discriminator, frame.Line, frame.StartLine});
    }
    *frames = info->frames.data();
    return info->frames.size();
}
