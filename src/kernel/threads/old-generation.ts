import { setFlagsFromString } from 'node:v8';
import { isSoleProcess } from '../sole-process.ts';

/** `bin/v8-memory.mjs` sets its own growth when a start is over, five seconds after the process began: by then it has. */
const startOverMs = 6_000;

let relays = 0;

/**
 * To be called when a relay of sound begins; what it returns, when it ends. `bin/culvert.mjs` has V8 collect the old
 * generation once it has grown by a fifth, and what sockets read counts as old until the next collection. So sound that
 * only passes through calls for one full collection after another (two a second at 1,600 frames of 8 kB), which free next
 * to nothing and take half of the CPU. Meanwhile it may grow to four times its size, which is the most by V8's own rule.
 * That rule lets it grow by only a tenth on a busy machine.
 */
export function relayBegins(): () => void {
  if (!isSoleProcess()) return () => undefined;
  relays += 1;
  if (relays === 1) {
    lift();
    const leftMs = startOverMs - performance.now();
    if (leftMs > 0) setTimeout(lift, leftMs).unref();
  }
  return () => {
    relays -= 1;
    if (relays === 0) setFlagsFromString('--heap-growing-percent=20');
  };
}

function lift(): void {
  if (relays > 0) setFlagsFromString('--heap-growing-percent=300');
}
