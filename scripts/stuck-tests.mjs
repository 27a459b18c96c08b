// A test file whose process never ends would hold up the run for good: Node's timeout is for tests and hooks, not for what
// a file waits for at its top, for a busy thread, nor for what is open behind the last test. Linux alone tells who is whose
// child; elsewhere nothing is watched.
import { readFileSync } from 'node:fs';

const lookEachMs = 5_000;
/** For a process to say where it stands, ms. */
const saysWithinMs = 3_000;

/**
 * Ends each child of the process `runner` that lives longer than `limitMs`, with all that it started. Then it calls
 * `ended` with its program and the CPU time, s, that it took in its last three seconds. Before that the child gets SIGWINCH,
 * which processes without a handler ignore, and writes what it waits for. The watch ends when the returned function is
 * called.
 */
export function watchForStuck(runner, limitMs, ended) {
  const since = new Map();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const pid of childrenOf(runner)) {
      const first = since.get(pid) ?? now;
      since.set(pid, first);
      if (now - first < limitMs) continue;
      since.set(pid, Number.POSITIVE_INFINITY);
      const program = programOf(pid);
      const tookS = cpuSeconds(pid);
      signal(pid, 'SIGWINCH');
      setTimeout(() => {
        const busyS = cpuSeconds(pid) - tookS;
        for (const one of [pid, ...below(pid)]) signal(one, 'SIGKILL');
        ended(program, busyS);
      }, saysWithinMs);
    }
  }, lookEachMs);
  return () => clearInterval(timer);
}

function childrenOf(pid) {
  return textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}

function below(pid) {
  return childrenOf(pid).flatMap((child) => [child, ...below(child)]);
}

/** Its last argument: the path of a test file or of a group's program. */
function programOf(pid) {
  return textOf(`/proc/${pid}/cmdline`).split('\0').filter(Boolean).at(-1) ?? '';
}

/** Linux counts it in hundredths. */
function cpuSeconds(pid) {
  const [, , , , , , , , , , , user = 0, system = 0] = textOf(`/proc/${pid}/stat`).split(') ').at(-1).split(' ');
  return (Number(user) + Number(system)) / 100;
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself.
  }
}
