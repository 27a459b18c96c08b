import type { Clock } from '../../kernel/clock.ts';
import { seedWaitMaxMs } from '../patience.ts';
import type { Answer, Link } from './link.ts';
import { each, type valuesOf } from './lua-admit.ts';
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
export type OperationName = keyof typeof valuesOf;

/** Requests admitted from leases come first in a call, then what gives something back. */
const order: readonly OperationName[] = [
  ...(['take', 'settle', 'giveBack', 'leave', 'holdBack', 'enterBack'] as const),
  ...(['enter', 'hold', 'holdAhead', 'enterAhead', 'read', 'running'] as const),
];

/** Nobody waits for these: they go with the next call, or a moment later. */
const patient: ReadonlySet<OperationName> = new Set(['take', 'settle', 'holdBack', 'enterBack']);

/** How long they wait for others. */
const patientMs = 10;

export interface TurnAnswer {
  answer: Answer;
  /** Monotonic, when it was on its way to Redis. */
  sentMs: number;
  /** Operations behind this one that the answer counts, too, and the sum of their second values. */
  behind: number;
  behindSum: number;
}

/** The way of requests to Redis: those of one turn of the loop go together. */
export interface Turns {
  /** Takes as many values as the operation has (`valuesOf`); they hold no secrets. */
  ask(name: OperationName, plan: OperationPlan, values: readonly string[]): Promise<TurnAnswer>;
}

interface Waiting {
  name: OperationName;
  plan: OperationPlan;
  values: readonly string[];
  sinceMs: number;
  resolve(answered: TurnAnswer): void;
}

export function createTurns(link: Pick<Link, 'run'>, clock: Clock, onTrouble: (message: string) => void): Turns {
  let queue: Waiting[] = [];
  let calls = 0;
  let scheduled = false;
  let timer: NodeJS.Timeout | null = null;
  let complaint = '';

  function schedule(): void {
    if (scheduled || calls >= callsMax) return;
    scheduled = true;
    setImmediate(pump);
  }

  function scheduleLater(): void {
    if (timer !== null || scheduled || calls >= callsMax) return;
    timer = setTimeout(() => {
      timer = null;
      schedule();
    }, patientMs);
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
      one.resolve(alone('unsent', sentMs));
      return false;
    });
    if (young.length === 0) return;
    const groups = groupsOf(young);
    const { keys, args } = callOf(groups);
    const answers = await link.run(turnScript, keys, args);
    for (const [at, group] of groups.entries())
      answerGroup(group, typeof answers === 'string' ? answers : answerOf(answers[at + 1]), sentMs);
  }

  function answerOf(reply: Reply | undefined): Answer {
    const answer = reply as readonly Reply[] | undefined;
    if (answer !== undefined && answer[0] !== threw) return answer;
    const words = answer === undefined ? 'its answer belongs to another command' : String(answer[1]);
    if (words !== complaint) onTrouble(`redis: a command was refused: ${words}`);
    complaint = words;
    return 'unknown';
  }

  return {
    ask(name, plan, values) {
      const sinceMs = clock.monotonicMs();
      if (queue.length >= waitingMax) return Promise.resolve(alone('unsent', sinceMs));
      return new Promise((resolve) => {
        queue.push({ name, plan, values, sinceMs, resolve });
        if (patient.has(name)) scheduleLater();
        else schedule();
      });
    },
  };
}

function alone(answer: Answer, sentMs: number): TurnAnswer {
  return { answer, sentMs, behind: 0, behindSum: 0 };
}

function answerGroup(group: readonly Waiting[], answer: Answer, sentMs: number): void {
  if (typeof answer === 'string') for (const one of group) one.resolve(alone(answer, sentMs));
  else if (answer[0] === each)
    for (const [i, one] of group.entries()) one.resolve(alone(answer[1 + i] as readonly Reply[], sentMs));
  else answerTogether(group, answer, sentMs);
}

function answerTogether(group: readonly Waiting[], answer: Answer, sentMs: number): void {
  let behindSum = 0;
  for (let i = group.length - 1; i >= 0; i -= 1) {
    const one = group[i];
    one?.resolve({ answer, sentMs, behind: group.length - 1 - i, behindSum });
    behindSum += Number(one?.values[1] ?? 0);
  }
}

/** Operations of one plan together, in the order in which they were asked for. */
function groupsOf(some: readonly Waiting[]): Waiting[][] {
  const byName = new Map<OperationName, Map<OperationPlan, Waiting[]>>(order.map((name) => [name, new Map()]));
  for (const one of some) {
    const ofName = byName.get(one.name);
    const group = ofName?.get(one.plan);
    if (group === undefined) ofName?.set(one.plan, [one]);
    else group.push(one);
  }
  return [...byName.values()].flatMap((ofName) => [...ofName.values()]);
}

/** KEYS and ARGV of the script (lua-turn.ts), without epoch and time. */
function callOf(groups: readonly (readonly Waiting[])[]): { keys: string[]; args: string[] } {
  const places = new Map<OperationPlan, string>();
  const keys: string[] = [];
  const args: string[] = [''];
  for (const [first] of groups) {
    if (first === undefined || places.has(first.plan)) continue;
    const { plan } = first;
    places.set(plan, String(places.size + 1));
    keys.push(...plan.keys);
    args.push(String(plan.keys.length), String(plan.args.length), ...plan.args);
  }
  args[0] = String(places.size);
  for (const group of groups) {
    const [first] = group;
    if (first === undefined) continue;
    args.push(first.name, places.get(first.plan) ?? '', String(group.length));
    for (const { values } of group) args.push(...values);
  }
  return { keys, args };
}
