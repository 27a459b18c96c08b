import { setImmediate as nextRound } from 'node:timers/promises';

/**
 * Starting a process holds up the loop until the machine has begun it: some ms, and 40 where it is full. In one round of
 * the loop node lets in one connection, so that another caller's waits for as many rounds as connections came before it.
 */
const roundsBetween = 16;

let free: Promise<void> = Promise.resolve();

/** Resolves when another process may be started: one after the other, with quick rounds of the loop between them. */
export function nextStart(): Promise<void> {
  const mine = free;
  free = mine.then(async () => {
    for (let round = 0; round < roundsBetween; round += 1) await nextRound();
  });
  return mine;
}
