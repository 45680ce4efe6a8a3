#include "emulate/user/maps.h"

#include "emulate/user/guest.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line of /proc/self/maps, in the program's addresses; one without a file has the path that the
 * kernel's records give it. */
struct line {
    uint64_t start, end, offset;
    char path[4096];
};

static bool next_line(FILE *maps, struct line *line)
{
    char text[4400];
    while (fgets(text, sizeof text, maps)) {
        unsigned long long start, end, offset;
        int path_at = 0;
        if (sscanf(text, "%llx-%llx %*s %llx %*s %*s %n", &start, &end, &offset, &path_at) < 3)
            continue;
        text[strcspn(text, "\n")] = '\0';
        line->start = start - csp_guest_base();
        line->end = end - csp_guest_base();
        bool has_file = text[path_at] == '/';
        line->offset = has_file ? offset : line->start;
        snprintf(line->path, sizeof line->path, "%s",
                 has_file ? text + path_at : CSP_MAPS_ANONYMOUS);
        return true;
    }
    return false;
}

/* Reports the executable segments of an AArch64 file of which the first page is at `base`. */
static void report_segments(const char *path, uint64_t base, csp_maps_fn *report, void *user)
{
    enum { PAGE = 4096 };
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    uint64_t bias = 0;
    bool first = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    bool ours = pread(fd, &header, sizeof header, 0) == sizeof header &&
                !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_machine == EM_AARCH64;
    for (unsigned i = 0; ours && i < header.e_phnum; i++) {
        off_t at = (off_t)(header.e_phoff + i * sizeof segment);
        if (pread(fd, &segment, sizeof segment, at) != sizeof segment || segment.p_type != PT_LOAD)
            continue;
        uint64_t page = segment.p_vaddr & -(uint64_t)PAGE;
        if (first)
            bias = base - page; /* loadable segments ascend by address */
        first = false;
        uint64_t before = segment.p_vaddr - page;
        if (segment.p_flags & PF_X)
            report(user, bias + page, (before + segment.p_filesz + PAGE - 1) & -(uint64_t)PAGE,
                   segment.p_offset - before, path);
    }
    close(fd);
}

void csp_maps_initial(csp_maps_fn *report, void *user)
{
    struct line line;
    char path[sizeof line.path] = "";
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return;
    while (next_line(maps, &line)) {
        if (!strcmp(line.path, path) || !strcmp(line.path, CSP_MAPS_ANONYMOUS))
            continue;
        strcpy(path, line.path);
        report_segments(path, line.start, report, user);
    }
    fclose(maps);
}

void csp_maps_at(uint64_t start, uint64_t length, csp_maps_fn *report, void *user)
{
    struct line line;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return;
    while (next_line(maps, &line))
        if (start >= line.start && start < line.end) {
            report(user, start, length, line.offset + (start - line.start), line.path);
            break;
        }
    fclose(maps);
}
