import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { seededRandom } from '../../src/kernel/random.ts';

const replicas = 8;
const callers = 200;
const left = 100;
const slowRoundsMax = 80;

/**
 * Milli-units, of which the ledger already has 900,000; an amount that fits exactly `left` times, and one that does not
 * divide it.
 */
const costs: readonly { costMilli: number; allowed: number }[] = [
  { costMilli: 1_000, allowed: 900_000 + left * 1_000 },
  { costMilli: 50, allowed: 900_000 + left * 50 },
  { costMilli: 7, allowed: 900_000 + left * 7 + 6 },
];

/** Of each process on a machine that is busy: together 112 want what is there for 100. */
const callersMin = 14;

export interface Race {
  /** How many may pass in a round. */
  left: number;
  /** How many passed, by round; fewer rounds than asked for where many were too slow. */
  held: readonly number[];
  /** Rounds that were run again: somebody waited longer than 250 ms and was refused for that. */
  tooSlow: number;
}

/** Eight processes with 200 callers each on the last 100 units, round after round. Throws when more than 100 pass. */
export async function raceRounds(order: { url: string; rounds: number; seed: number }): Promise<Race> {
  const random = seededRandom(order.seed);
  const children: ChildProcess[] = [];
  try {
    await Promise.all(
      Array.from({ length: replicas }, async (_, i) => {
        const child = fork(join(import.meta.dirname, 'redis-race-child.ts'), [order.url, String(i)], {
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        });
        children.push(child);
        await once(child, 'message');
      }),
    );
    const passed: number[] = [];
    let tooSlow = 0;
    let callersNow = callers;
    while (passed.length < order.rounds) {
      const { costMilli, allowed } = costs[Math.floor(random.next() * costs.length)]!;
      const asked = { account: `race${passed.length}-${tooSlow}`, callers: callersNow, costMilli, allowed };
      const answers = await Promise.all(children.map((child) => ask(child, asked)));
      const unavailable = answers.reduce((sum, answer) => sum + answer.unavailable, 0);
      const held = answers.reduce((sum, answer) => sum + answer.held, 0);
      if (held > left) throw new Error(`round ${passed.length} of ${costMilli} each: ${held} passed`);
      // On a machine that is busy with other things some wait longer than 250 ms: such a round says no more than that.
      // Fewer callers then come at once, which are still more than may pass.
      if (unavailable === 0) {
        passed.push(held);
        callersNow = Math.min(callers, callersNow * 2);
      } else {
        callersNow = Math.max(callersMin, Math.floor(callersNow / 2));
        if (++tooSlow === slowRoundsMax) break;
      }
    }
    if (passed.length < order.rounds / 10) throw new Error(`${tooSlow} rounds were too slow`);
    return { left, held: passed, tooSlow };
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

async function ask(child: ChildProcess, round: object): Promise<{ held: number; unavailable: number }> {
  const answered = once(child, 'message');
  child.send(round);
  const [answer] = await answered;
  return answer as { held: number; unavailable: number };
}
