/* Preloaded into a server: the time of day, shifted by what a file says at that moment. Timers and the monotonic clock stay.
   The process that the file names stands still once it has asked for the time, until the file names it no more. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile struct {
    int64_t offset; /* in microseconds */
    int64_t held;   /* a process id, or 0 */
} *said;

__attribute__((constructor)) static void open_offset(void)
{
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *said, PROT_READ, MAP_SHARED, file, 0);

    if (file >= 0)
        close(file);
    if (page != MAP_FAILED)
        said = page;
}

/* The kernel is asked directly: looking up the function that this one hides would be one more thing to fail before main. */
static int shifted(clockid_t clock, struct timespec *now)
{
    int failed = (int) syscall(SYS_clock_gettime, clock, now);

    if (failed == 0 && said && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t offset = said->offset;
        int64_t nanoseconds = now->tv_nsec + offset % 1000000 * 1000;

        now->tv_sec += offset / 1000000 + (nanoseconds >= 1000000000) - (nanoseconds < 0);
        now->tv_nsec = (nanoseconds + 1000000000) % 1000000000;
    }
    return failed;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    return shifted(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;

    (void) zone;
    if (shifted(CLOCK_REALTIME, &exact) != 0)
        return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    while (said && said->held == getpid())
        nanosleep(&(struct timespec) {.tv_nsec = 1000000}, NULL);
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;

    if (shifted(CLOCK_REALTIME, &exact) != 0)
        return (time_t) -1;
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
