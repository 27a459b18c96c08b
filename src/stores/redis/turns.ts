import type { Clock } from '../../kernel/clock.ts';
import { seedWaitMaxMs } from '../patience.ts';
import type { Answer, Link } from './link.ts';
import { turnScript } from './lua-turn.ts';
import type { Reply } from './wire.ts';

/** Operations of one call: another tenant's wait behind it, and Redis does nothing else meanwhile. */
const operationsMax = 64;

/** Calls on their way. What comes meanwhile waits for the next one, and not in Redis, where a hold must be answered soon. */
const callsMax = 8;

/** Operations that wait for a call; more are refused. */
const waitingMax = 20_000;

/** The answer of an operation that threw in Redis. */
const threw = 9;

/** Keys (without the prefix of the books) and arguments that operations have in common, sent once a call. */
export interface OperationPlan {
  keys: readonly string[];
  args: readonly string[];
}

/** Operations of lua-admit.ts. */
export type OperationName = 'enter' | 'hold' | 'settle' | 'giveBack' | 'read' | 'leave' | 'running';

/** `sentMs`: monotonic, when it was on its way to Redis. */
export interface Asked {
  answer: Answer;
  sentMs: number;
}

/** The way of requests to Redis: those of one turn of the loop go together. */
export interface Turns {
  /** At most four values, which hold no secrets. */
  ask(name: OperationName, plan: OperationPlan, values: readonly string[]): Promise<Asked>;
}

interface Waiting {
  name: OperationName;
  plan: OperationPlan;
  values: readonly string[];
  sinceMs: number;
  resolve(asked: Asked): void;
}

export function createTurns(link: Pick<Link, 'run'>, clock: Clock, onTrouble: (message: string) => void): Turns {
  let queue: Waiting[] = [];
  let calls = 0;
  let scheduled = false;
  let complaint = '';

  function schedule(): void {
    if (scheduled || calls >= callsMax) return;
    scheduled = true;
    setImmediate(pump);
  }

  function pump(): void {
    scheduled = false;
    while (calls < callsMax && queue.length > 0) {
      const some = queue.slice(0, operationsMax);
      queue = queue.length === some.length ? [] : queue.slice(operationsMax);
      calls += 1;
      void call(some).finally(() => {
        calls -= 1;
        if (queue.length > 0) schedule();
      });
    }
  }

  async function call(some: readonly Waiting[]): Promise<void> {
    const sentMs = clock.monotonicMs();
    const young = some.filter((one) => {
      if (sentMs - one.sinceMs < seedWaitMaxMs) return true;
      one.resolve({ answer: 'unsent', sentMs });
      return false;
    });
    if (young.length === 0) return;
    const { keys, args } = callOf(young);
    const answers = await link.run(turnScript, keys, args);
    for (const [at, one] of young.entries())
      one.resolve({ answer: typeof answers === 'string' ? answers : answerOf(answers[at + 1]), sentMs });
  }

  function answerOf(reply: Reply | undefined): Answer {
    const answer = reply as readonly Reply[];
    if (answer[0] !== threw) return answer;
    const words = String(answer[1]);
    if (words !== complaint) onTrouble(`redis: a command was refused: ${words}`);
    complaint = words;
    return 'unknown';
  }

  return {
    ask(name, plan, values) {
      const sinceMs = clock.monotonicMs();
      if (queue.length >= waitingMax) return Promise.resolve({ answer: 'unsent', sentMs: sinceMs });
      return new Promise((resolve) => {
        queue.push({ name, plan, values, sinceMs, resolve });
        schedule();
      });
    },
  };
}

/** KEYS and ARGV of the script (lua-turn.ts), without epoch and time. */
function callOf(some: readonly Waiting[]): { keys: string[]; args: string[] } {
  const places = new Map<OperationPlan, string>();
  const keys: string[] = [];
  const args: string[] = [''];
  for (const { plan } of some) {
    if (places.has(plan)) continue;
    places.set(plan, String(places.size + 1));
    keys.push(...plan.keys);
    args.push(String(plan.keys.length), String(plan.args.length), ...plan.args);
  }
  args[0] = String(places.size);
  for (const { name, plan, values } of some)
    args.push(name, places.get(plan) ?? '', values[0] ?? '', values[1] ?? '', values[2] ?? '', values[3] ?? '');
  return { keys, args };
}
