#include "emulate/machine/guest_ram.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int csp_guest_ram_open(struct csp_guest_ram *ram, const char *path, uint64_t base)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    struct stat status;
    void *data = MAP_FAILED;
    if (fstat(fd, &status) == 0)
        data = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    close(fd);
    errno = error;
    if (data == MAP_FAILED)
        return -1;
    *ram = (struct csp_guest_ram){data, base, (uint64_t)status.st_size};
    return 0;
}

void *csp_guest_ram_at(const struct csp_guest_ram *ram, uint64_t address, uint64_t size)
{
    if (address < ram->base || size > ram->size || address - ram->base > ram->size - size)
        return NULL;
    return ram->data + (address - ram->base);
}
