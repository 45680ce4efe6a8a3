#include "profgen/llvm/debug_info.h"

#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFAbbreviationDeclaration.h"
#include "llvm/DebugInfo/DWARF/DWARFCompileUnit.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/DebugInfo/DWARF/DWARFDebugAbbrev.h"
#include "llvm/DebugInfo/DWARF/DWARFDie.h"
#include "llvm/DebugInfo/DWARF/DWARFUnit.h"
#include "llvm/Object/Binary.h"
#include "llvm/Object/ObjectFile.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

using namespace llvm;

namespace
{

/* What DWARF says of a function, inlined or not, wherever it is asked for. */
struct Function {
    std::string name;
    uint32_t start_line;
    uint32_t call_line, call_discriminator; /* of an inlined one, in its caller */
};

/* The last row that was found: instructions are mostly asked for one after the other. */
struct RowCursor {
    const DWARFDebugLine::LineTable *table = nullptr;
    uint32_t row = UINT32_MAX;

    uint32_t find(const DWARFDebugLine::LineTable *wanted, uint64_t address)
    {
        if (wanted == table && covers(row, address))
            return row;
        if (wanted == table && row != UINT32_MAX && covers(row + 1, address))
            return ++row;
        table = wanted;
        row = table->lookupAddress({address, object::SectionedAddress::UndefSection});
        return row;
    }

  private:
    bool covers(uint32_t number, uint64_t address) const
    {
        return uint64_t(number) + 1 < table->Rows.size() && !table->Rows[number].EndSequence &&
               table->Rows[number].Address.Address <= address &&
               address < table->Rows[number + 1].Address.Address;
    }
};

/* Code [start, end) of one function, inlined or not, but for what is inlined into it. */
struct Stretch {
    uint64_t end;
    DWARFDie die;
    std::vector<const Function *> chain; /* what it is inlined through, itself first */
};

/* What libLLVM says of malformed parts that were read ahead, until somebody looks there. */
using Complaints = std::vector<std::string>;

struct Unit {
    Complaints complaints;
    const DWARFDebugLine::LineTable *lines;
    std::map<uint64_t, Stretch> stretches;  /* by start */
    std::map<uint64_t, Function> functions; /* by offset in .debug_info */

    Stretch *find(uint64_t address)
    {
        auto next = stretches.upper_bound(address);
        if (next == stretches.begin() || address >= std::prev(next)->second.end)
            return nullptr;
        return &std::prev(next)->second;
    }
};

} // namespace

struct csp_debug_info {
    csp_diag *diag;
    bool reads_ahead = false;
    Complaints *held = nullptr; /* where what is read ahead belongs */
    Complaints complaints;      /* of no unit */
    std::string path;
    std::unique_ptr<object::ObjectFile> object;
    std::unique_ptr<DWARFContext> context;
    std::map<DWARFUnit *, Unit> units; /* those with code that was asked for */
    RowCursor rows;
    std::vector<csp_inline_frame> frames;
};

static void complain(csp_debug_info *info, const std::string &text)
{
    if (info->held)
        info->held->push_back(text);
    else
        csp_warn(info->diag, "%s: debug information: %s", info->path.c_str(), text.c_str());
}

/* Begins to look at what has these complaints, so far. */
static void look_at(csp_debug_info *info, Complaints &complaints)
{
    info->held = info->reads_ahead ? &complaints : nullptr;
    if (info->held || complaints.empty())
        return;
    for (const std::string &text : std::exchange(complaints, {}))
        complain(info, text);
}

int csp_debug_info_open(struct csp_debug_info **info, const struct csp_file *file,
                        const char *dwp_path, struct csp_diag *diag)
{
    const char *path = file->path;
    StringRef bytes(reinterpret_cast<const char *>(file->data), file->size);
    *info = nullptr;
    auto object = object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, path));
    if (!object)
        return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", path, toString(object.takeError()).c_str());
    auto made = std::make_unique<csp_debug_info>();
    made->diag = diag;
    auto warn = [info = made.get()](Error error) { complain(info, toString(std::move(error))); };
    made->path = path;
    made->object = std::move(*object);
    made->context =
        DWARFContext::create(*made->object, DWARFContext::ProcessDebugRelocations::Process, nullptr,
                             dwp_path ? dwp_path : "", warn, warn);
    *info = made.release();
    return 0;
}

void csp_debug_info_tell(struct csp_debug_info *info, struct csp_diag *diag)
{
    info->diag = diag;
}

void csp_debug_info_close(struct csp_debug_info *info)
{
    delete info;
}

size_t csp_debug_info_units(struct csp_debug_info *info)
{
    return info->context->getNumCompileUnits();
}

bool csp_debug_info_is_split(struct csp_debug_info *info)
{
    for (const auto &unit : info->context->compile_units())
        if (unit->getDWOId())
            return true;
    return false;
}

size_t csp_debug_info_missing(struct csp_debug_info *info, const char **name)
{
    size_t missing = 0;
    for (const auto &unit : info->context->compile_units()) {
        if (!unit->getDWOId())
            continue;
        DWARFUnit *split = unit->getNonSkeletonUnitDIE().getDwarfUnit();
        if (split && split->isDWOUnit())
            continue;
        if (!missing++)
            *name = dwarf::toString(
                unit->getUnitDIE().find({dwarf::DW_AT_dwo_name, dwarf::DW_AT_GNU_dwo_name}), "?");
    }
    return missing;
}

static void visit_unit(DWARFUnit &unit, uint32_t number, csp_subprogram_fn *each, void *user)
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
                each(user, name, number, range.LowPC, range.HighPC);
    }
}

void csp_debug_info_subprograms(struct csp_debug_info *info, csp_subprogram_fn *each, void *user)
{
    uint32_t number = 0;
    for (const auto &unit : info->context->compile_units())
        visit_unit(*unit, number++, each, user);
    number = 0;
    /* With split DWARF the functions are in the .dwo or .dwp file of a skeleton unit. */
    for (const auto &unit : info->context->compile_units()) {
        uint32_t own = number++;
        if (!unit->getDWOId())
            continue;
        DWARFUnit *split = unit->getNonSkeletonUnitDIE(false).getDwarfUnit();
        if (split && split->isDWOUnit())
            visit_unit(*split, own, each, user);
    }
}

static bool refers_to_other_units(const DWARFAbbreviationDeclaration &abbreviation)
{
    if (abbreviation.getTag() != dwarf::DW_TAG_inlined_subroutine)
        return false;
    for (const auto &attribute : abbreviation.attributes())
        if (attribute.Attr == dwarf::DW_AT_abstract_origin)
            return attribute.Form == dwarf::DW_FORM_ref_addr;
    return false;
}

/* What forms are used is in the abbreviations, which are few. */
bool csp_debug_info_inlines_across_units(const struct csp_debug_info *info)
{
    const DWARFAbbreviationDeclarationSet *last = nullptr;
    for (const auto &unit : info->context->compile_units()) {
        const DWARFAbbreviationDeclarationSet *abbreviations = unit->getAbbreviations();
        if (!abbreviations || abbreviations == last)
            continue;
        for (const auto &abbreviation : *abbreviations)
            if (refers_to_other_units(abbreviation))
                return true;
        last = abbreviations;
    }
    return false;
}

static const Function &function_of(Unit &unit, const DWARFDie &die)
{
    auto added = unit.functions.try_emplace(die.getOffset());
    Function &function = added.first->second;
    if (!added.second)
        return function;
    const char *name = die.getSubroutineName(DINameKind::LinkageName);
    function.name = name ? name : DILineInfo::BadString;
    function.start_line = static_cast<uint32_t>(die.getDeclLine());
    uint32_t file, column;
    die.getCallerFrame(file, function.call_line, column, function.call_discriminator);
    return function;
}

/* A range of a function within those that were added before is cut out of them. */
static void add_stretch(std::map<uint64_t, Stretch> &stretches, const DWARFDie &die, uint64_t start,
                        uint64_t end)
{
    auto around = stretches.upper_bound(start);
    if (around != stretches.begin() && start < (--around)->second.end) {
        if (end < around->second.end)
            stretches[end] = around->second;
        if (start > around->first)
            around->second.end = start;
    }
    stretches[start] = {end, die, {}};
}

/* Callers come before what is inlined into them. */
static void find_stretches(DWARFUnit &unit, std::map<uint64_t, Stretch> &stretches)
{
    for (const auto &entry : unit.dies()) {
        DWARFDie die(&unit, &entry);
        if (!die.isSubroutineDIE())
            continue;
        auto ranges = die.getAddressRanges();
        if (!ranges) {
            consumeError(ranges.takeError());
            continue;
        }
        for (const auto &range : *ranges)
            if (range.LowPC != range.HighPC)
                add_stretch(stretches, die, range.LowPC, range.HighPC);
    }
}

static Unit &unit_of(csp_debug_info *info, DWARFUnit *unit)
{
    auto added = info->units.try_emplace(unit);
    Unit &known = added.first->second;
    look_at(info, known.complaints);
    if (added.second) {
        /* Split debug information is in another unit. */
        DWARFUnit *split = unit->getNonSkeletonUnitDIE(false).getDwarfUnit();
        known.lines = info->context->getLineTableForUnit(unit);
        find_stretches(split ? *split : *unit, known.stretches);
    }
    return known;
}

/* The functions that an address is in, innermost first; empty where none is described. */
static ArrayRef<const Function *> chain_at(Unit &unit, uint64_t address, uint64_t *end)
{
    Stretch *stretch = unit.find(address);
    *end = address + 1;
    if (!stretch)
        return {};
    if (stretch->chain.empty())
        for (DWARFDie die = stretch->die; die; die = die.getParent()) {
            if (die.isSubroutineDIE())
                stretch->chain.push_back(&function_of(unit, die));
            if (die.isSubprogramDIE())
                break;
        }
    *end = stretch->end;
    return stretch->chain;
}

/* `place` is where the leaf is in its function. */
static size_t tell_frames(csp_debug_info *info, ArrayRef<const Function *> chain,
                          csp_inline_frame place, const struct csp_inline_frame **frames)
{
    for (const Function *function : chain) {
        info->frames.push_back(
            {function->name.c_str(), place.discriminator, place.line, function->start_line});
        place.line = function->call_line;
        place.discriminator = function->call_discriminator;
    }
    *frames = info->frames.data();
    return info->frames.size();
}

/* What DWARFContext::getInliningInfoForAddress finds, without the names of files, which take it
 * most of its time. */
size_t csp_debug_info_frames(struct csp_debug_info *info, uint64_t address,
                             const struct csp_inline_frame **frames)
{
    info->frames.clear();
    look_at(info, info->complaints);
    DWARFCompileUnit *unit = info->context->getCompileUnitForCodeAddress(address);
    if (!unit)
        return 0;
    Unit &known = unit_of(info, unit);
    const DWARFDebugLine::LineTable *table = known.lines;
    uint64_t end;
    ArrayRef<const Function *> chain = chain_at(known, address, &end);
    csp_inline_frame place = {DILineInfo::BadString, 0, 0, 0};
    uint32_t row = table ? info->rows.find(table, address) : UINT32_MAX;
    bool found = row != UINT32_MAX && table->hasFileAtIndex(table->Rows[row].File);
    if (found) {
        place.line = table->Rows[row].Line;
        place.discriminator = table->Rows[row].Discriminator;
    }
    /* Code without a description, perhaps because its .dwo file is not there. */
    if (chain.empty() && found)
        info->frames.push_back(place);
    return tell_frames(info, chain, place, frames);
}

size_t csp_debug_info_inlining(struct csp_debug_info *info, uint64_t address,
                               const struct csp_inline_frame **frames, uint64_t *end)
{
    info->frames.clear();
    *end = address + 1;
    look_at(info, info->complaints);
    DWARFCompileUnit *unit = info->context->getCompileUnitForCodeAddress(address);
    if (!unit)
        return 0;
    return tell_frames(info, chain_at(unit_of(info, unit), address, end), {}, frames);
}

void csp_debug_info_read_ahead(struct csp_debug_info *info, uint64_t start, uint64_t end)
{
    const struct csp_inline_frame *frames;
    info->reads_ahead = true;
    while (start < end && csp_debug_info_inlining(info, start, &frames, &start))
        continue;
    info->reads_ahead = false;
    info->held = nullptr;
}
