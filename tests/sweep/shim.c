/* Sees every write, sync, rename, link and removal below one folder, of every library in the process (Python, Arrow,
 * SQLite, DuckDB): counts them, and fails or kills at one of them, or records them. Loaded by LD_PRELOAD; does nothing
 * until `sweep_arm` is called. Locks and SQLite's shared memory are left alone: nothing durable is in them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, KILL, FULL, BROKEN };
static char root[PATH_MAX];
static size_t root_length;
static int mode, trace = -1, record = -1;
static long at, seen;
static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static ssize_t really_write(int fd, const void *data, size_t size) { REAL(write); return real(fd, data, size); }

void sweep_arm(const char *folder, int what, long place, int trace_fd, int record_fd) {
    snprintf(root, sizeof root, "%s/", folder);
    mode = what; at = place; trace = trace_fd; record = record_fd; seen = 0;
    root_length = strlen(root);
}

long sweep_seen(void) { return seen; }

static int ends(const char *path, const char *end) {
    size_t a = strlen(path), b = strlen(end);
    return a >= b && !strcmp(path + a - b, end);
}

/* Write the absolute path to `out`; tell whether it is below the folder and counts. */
static int ours(char *out, int dir, const char *path) {
    if (!root_length || !path) return 0;
    if (path[0] == '/') snprintf(out, PATH_MAX, "%s", path);
    else {
        char link[64], base[PATH_MAX / 2];
        if (dir == AT_FDCWD) { if (!getcwd(base, sizeof base)) return 0; }
        else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
            ssize_t size = readlink(link, base, sizeof base - 1);
            if (size < 0) return 0;
            base[size] = 0;
        }
        snprintf(out, PATH_MAX, "%s/%s", base, path);
    }
    if (strncmp(out, root, root_length)) return 0;
    return !ends(out, ".lock") && !ends(out, "-shm") && !ends(out, "-queue") && !ends(out, "-write");
}

static int ours_fd(char *out, int fd) {
    char link[64];
    if (!root_length || fd == trace || fd == record) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, out, PATH_MAX - 1);
    if (size < 0) return 0;
    out[size] = 0;
    return !ends(out, " (deleted)") && ours(out, AT_FDCWD, strdupa(out));
}

static void keep(char op, const char *path, const char *other, uint64_t offset, const void *data, uint64_t size) {
    if (record < 0) return;
    char head[2 * PATH_MAX + 96];
    int length = snprintf(head, sizeof head, "%c\t%s\t%s\t%llu\t%llu\n", op, path + root_length,
                          other ? other : "", (unsigned long long)offset, (unsigned long long)size);
    really_write(record, head, length);
    for (uint64_t done = 0; data && done < size;) {
        ssize_t part = really_write(record, (const char *)data + done, size - done);
        if (part <= 0) break;
        done += part;
    }
}

/* Count an operation; return 0 to go on, 1 to fail with errno set, 2 to do half of it and die. */
static int meet(const char *op, const char *path) {
    long n = ++seen;
    if (trace >= 0) {
        char line[PATH_MAX + 64];
        int length = snprintf(line, sizeof line, "%ld\t%s\t%s\n", n, op, path + root_length);
        really_write(trace, line, length);
    }
    if (mode == KILL && n == at) return 2;
    if (mode == BROKEN && n == at) { errno = EIO; return 1; }
    /* a full disk stays full; what frees room, and what takes none, goes on */
    if (mode == FULL && n >= at && strcmp(op, "unlink") && strcmp(op, "sync") && strcmp(op, "rename")) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

static void die(void) { kill(getpid(), SIGKILL); for (;;) pause(); }

static uint64_t place_of(int fd) {
    struct stat s;
    if ((fcntl(fd, F_GETFL) & O_APPEND) && !fstat(fd, &s)) return s.st_size;
    off_t offset = lseek(fd, 0, SEEK_CUR);
    return offset < 0 ? 0 : offset;
}

#define BEGIN char path[PATH_MAX]; pthread_mutex_lock(&turn)
#define END(value) do { int saved = errno; pthread_mutex_unlock(&turn); errno = saved; return (value); } while (0)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    BEGIN;
    if (ours_fd(path, fd)) {
        int what = meet("write", path);
        if (what == 2) { real(fd, data, size / 2); die(); }
        if (what) END(-1);
        uint64_t offset = place_of(fd);
        ssize_t done = real(fd, data, size);
        if (done > 0) keep('w', path, 0, offset, data, done);
        END(done);
    }
    END(real(fd, data, size));
}

#define PWRITE(name, type) \
    ssize_t name(int fd, const void *data, size_t size, type offset) { \
        REAL(name); \
        BEGIN; \
        if (ours_fd(path, fd)) { \
            int what = meet("write", path); \
            if (what == 2) { real(fd, data, size / 2, offset); die(); } \
            if (what) END(-1); \
            ssize_t done = real(fd, data, size, offset); \
            if (done > 0) keep('w', path, 0, offset, data, done); \
            END(done); \
        } \
        END(real(fd, data, size, offset)); \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    char path[PATH_MAX];
    if (!ours_fd(path, fd)) return real(fd, parts, count);
    ssize_t total = 0;
    for (int i = 0; i < count; i++) {
        ssize_t done = write(fd, parts[i].iov_base, parts[i].iov_len);
        if (done < 0) return total ? total : done;
        total += done;
        if ((size_t)done < parts[i].iov_len) break;
    }
    return total;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t size) {
    REAL(sendfile);
    char path[PATH_MAX];
    if (ours_fd(path, out)) { errno = EINVAL; return -1; } /* the caller copies by write */
    return real(out, in, offset, size);
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t size) {
    REAL(sendfile64);
    char path[PATH_MAX];
    if (ours_fd(path, out)) { errno = EINVAL; return -1; }
    return real(out, in, offset, size);
}

ssize_t copy_file_range(int in, off64_t *a, int out, off64_t *b, size_t size, unsigned flags) {
    REAL(copy_file_range);
    char path[PATH_MAX];
    if (ours_fd(path, out)) { errno = EINVAL; return -1; }
    return real(in, a, out, b, size, flags);
}

#define ON_FD(name, op, letter, arguments, call, amount) \
    int name arguments { \
        REAL(name); \
        BEGIN; \
        if (ours_fd(path, fd)) { \
            int what = meet(op, path); \
            if (what == 2) die(); \
            if (what) END(-1); \
            int done = real call; \
            if (!done) keep(letter, path, 0, amount, 0, 0); \
            END(done); \
        } \
        END(real call); \
    }
ON_FD(fsync, "sync", 's', (int fd), (fd), 0)
ON_FD(fdatasync, "sync", 's', (int fd), (fd), 0)
ON_FD(ftruncate, "truncate", 't', (int fd, off_t size), (fd, size), size)
ON_FD(ftruncate64, "truncate", 't', (int fd, off64_t size), (fd, size), size)

int posix_fallocate(int fd, off_t offset, off_t size) {
    REAL(posix_fallocate);
    char path[PATH_MAX];
    return ours_fd(path, fd) ? EINVAL : real(fd, offset, size); /* the caller writes zeros instead */
}

int posix_fallocate64(int fd, off64_t offset, off64_t size) {
    REAL(posix_fallocate64);
    char path[PATH_MAX];
    return ours_fd(path, fd) ? EINVAL : real(fd, offset, size);
}

int fallocate(int fd, int how, off_t offset, off_t size) {
    REAL(fallocate);
    char path[PATH_MAX];
    if (ours_fd(path, fd)) { errno = EOPNOTSUPP; return -1; }
    return real(fd, how, offset, size);
}

#define ON_PATH(name, op, letter, arguments, dir, name_of, call) \
    int name arguments { \
        REAL(name); \
        BEGIN; \
        if (ours(path, dir, name_of)) { \
            int what = meet(op, path); \
            if (what == 2) die(); \
            if (what) END(-1); \
            int done = real call; \
            if (!done) keep(letter, path, 0, 0, 0, 0); \
            END(done); \
        } \
        END(real call); \
    }
ON_PATH(unlink, "unlink", 'u', (const char *name), AT_FDCWD, name, (name))
ON_PATH(unlinkat, "unlink", 'u', (int dir, const char *name, int flags), dir, name, (dir, name, flags))
ON_PATH(remove, "unlink", 'u', (const char *name), AT_FDCWD, name, (name))
ON_PATH(rmdir, "unlink", 'u', (const char *name), AT_FDCWD, name, (name))
ON_PATH(mkdir, "mkdir", 'd', (const char *name, mode_t bits), AT_FDCWD, name, (name, bits))

#define ON_TWO(name, op, letter, arguments, from_dir, from_name, dir, name_of, call) \
    int name arguments { \
        REAL(name); \
        BEGIN; \
        char from[PATH_MAX] = ""; \
        int is_from = ours(from, from_dir, from_name); \
        if (ours(path, dir, name_of)) { \
            int what = meet(op, path); \
            if (what == 2) die(); \
            if (what) END(-1); \
            int done = real call; \
            if (!done) keep(letter, path, is_from ? from + root_length : from_name, 0, 0, 0); \
            END(done); \
        } \
        END(real call); \
    }
ON_TWO(rename, "rename", 'r', (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, (a, b))
ON_TWO(renameat, "rename", 'r', (int x, const char *a, int y, const char *b), x, a, y, b, (x, a, y, b))
ON_TWO(link, "link", 'l', (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, (a, b))
ON_TWO(linkat, "link", 'l', (int x, const char *a, int y, const char *b, int f), x, a, y, b, (x, a, y, b, f))
ON_TWO(symlink, "link", 'y', (const char *a, const char *b), AT_FDCWD, a, AT_FDCWD, b, (a, b))

/* Opening counts only if it makes or empties a file. */
static int opened(int fd, int flags, const char *path, int was_there) {
    if (fd >= 0 && ((flags & O_TRUNC) || !was_there)) keep('o', path, 0, flags & O_TRUNC ? 1 : 0, 0, 0);
    return fd;
}

#define OPEN(name, arguments, dir, call) \
    int name arguments { \
        REAL(name); \
        mode_t bits = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); bits = va_arg(rest, int); va_end(rest); } \
        BEGIN; \
        if ((flags & (O_CREAT | O_TRUNC)) && ours(path, dir, file)) { \
            int was_there = !access(path, F_OK); \
            if (!was_there || (flags & O_TRUNC)) { \
                int what = meet("create", path); \
                if (what == 2) die(); \
                if (what) END(-1); \
            } \
            END(opened(real call, flags, path, was_there)); \
        } \
        END(real call); \
    }
OPEN(open, (const char *file, int flags, ...), AT_FDCWD, (file, flags, bits))
OPEN(open64, (const char *file, int flags, ...), AT_FDCWD, (file, flags, bits))
OPEN(openat, (int dir, const char *file, int flags, ...), dir, (dir, file, flags, bits))
OPEN(openat64, (int dir, const char *file, int flags, ...), dir, (dir, file, flags, bits))
