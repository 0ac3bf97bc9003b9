/* Moves the wall clock of one process: adds the seconds (64 bits, little-endian) that stand in the
 * file WALL_CLOCK_OFFSET whenever the process asks for the time. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static int (*real_gettime)(clockid_t, struct timespec *);
static volatile const int64_t *offset;

__attribute__((constructor)) static void prepare(void) {
    real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("WALL_CLOCK_OFFSET");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (!real_gettime || page == MAP_FAILED)
        abort();
    offset = page;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = real_gettime(id, now);
    if (result == 0 && id == CLOCK_REALTIME)
        now->tv_sec += (int64_t)le64toh((uint64_t)*offset);
    return result;
}
