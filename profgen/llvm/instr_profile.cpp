#include "profgen/llvm/instr_profile.h"

#include "base/attempt.h"

#include "llvm/ProfileData/InstrProfReader.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdio>
#include <cstring>

using namespace llvm;

bool csp_instr_profile_is(const char *path)
{
    static const char magic[] = "\xfflprofi\x81"; /* llvm/ProfileData/InstrProf.h */
    char start[8];
    FILE *file = std::fopen(path, "rb");
    bool is = file && std::fread(start, sizeof start, 1, file) == 1 &&
              !std::memcmp(start, magic, sizeof start);
    if (file)
        std::fclose(file);
    return is;
}

static int refuse(const char *path, Error error, struct csp_diag *diag)
{
    return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", path, toString(std::move(error)).c_str());
}

namespace
{

struct Reading {
    MemoryBufferRef file;
    csp_instr_entry_fn *each;
    void *user;
};

} // namespace

static int read_entries(const Reading &reading, struct csp_diag *diag)
{
    const char *path = reading.file.getBufferIdentifier().data();
    auto reader = IndexedInstrProfReader::create(MemoryBuffer::getMemBuffer(reading.file, false));
    if (!reader)
        return refuse(path, reader.takeError(), diag);
    if ((*reader)->isIRLevelProfile() && !(*reader)->instrEntryBBEnabled())
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: its counters are of edges of the control flow, which do not tell how "
                        "often functions were entered: instrument with -fprofile-instr-generate, "
                        "or with -fprofile-generate -mllvm -pgo-instrument-entry",
                        path);
    for (const NamedInstrProfRecord &record : **reader) {
        StringRef name = record.Name.substr(record.Name.find_last_of(";:") + 1);
        if (!record.Counts.empty())
            reading.each(reading.user, name.data(), name.size(), record.Counts[0]);
    }
    if (Error error = (*reader)->getError())
        return refuse(path, std::move(error), diag);
    return 0;
}

static void attempt(void *reading)
{
    read_entries(*static_cast<Reading *>(reading), nullptr);
}

int csp_instr_profile_entries(const char *path, csp_instr_entry_fn *each, void *user,
                              struct csp_diag *diag)
{
    auto file = MemoryBuffer::getFileOrSTDIN(path);
    if (std::error_code error = file.getError())
        return csp_fail(diag, CSP_ERR_INPUT, "%s: %s", path, error.message().c_str());
    Reading reading = {(*file)->getMemBufferRef(), each, user};
    if (!csp_attempt(attempt, &reading))
        return csp_fail(diag, CSP_ERR_INPUT,
                        "%s: libLLVM dies of reading it: the profile is damaged", path);
    return read_entries(reading, diag);
}
