/* Syncs take 1.2 s while the file that SLOW_DISK names is there, and fail while that of BROKEN_DISK is. For LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int is_there(const char *variable) {
  const char *flag = getenv(variable);
  return flag && access(flag, F_OK) == 0;
}

static int synced(const char *name, int descriptor) {
  struct timespec pause = {1, 200000000L};
  if (is_there("SLOW_DISK")) nanosleep(&pause, NULL);
  if (is_there("BROKEN_DISK")) {
    errno = EIO;
    return -1;
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, name))(descriptor);
}

int fsync(int descriptor) { return synced("fsync", descriptor); }
int fdatasync(int descriptor) { return synced("fdatasync", descriptor); }
