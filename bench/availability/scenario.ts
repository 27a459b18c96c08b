import { disagreements } from '../../test/faults/books-agree.ts';
import { type CallSeen, type Calls, openLoop } from '../../test/faults/many-calls.ts';
import { percentile } from '../percentile.ts';
import { judged, type Row, told } from '../rows.ts';
import type { MockProcess, UpstreamCounts } from './processes.ts';

/** One alias over upstreams that misbehave, with an account of its own, so that its books can be looked at alone. */
export interface Scenario {
  /** Names its alias, its account, and with a number behind it its providers. */
  id: string;
  targets: readonly TargetOrder[];
  /** Of its alias; chat by default. */
  type?: 'embedding';
  /** Requests of its account at one time; unlimited by default. */
  concurrency?: number;
  /** It keeps the machine busy: measured before the others. */
  alone?: true;
  measure(stage: Stage): Promise<Row[]>;
}

export interface TargetOrder {
  /** Spec of the mock, such as `flap=0.3;seed=1`. */
  spec: string;
  /** `closed`: nothing listens there. */
  at: 'closed' | MockProcess;
  /** 1 by default. */
  priority?: number;
}

/** Tools of a scenario's measurement. */
export interface Stage {
  /** Of the gateway. */
  url: string;
  adminKey: string;
  scenario: Scenario;
  keys: readonly string[];
  perSecond: number;
  seconds: number;
}

export const adminKey = 'sk-cv-admin-bench-key-0001';
const keysEach = 4;
/** Nobody waits longer than that for a chat. */
const patienceMs = 60_000;

/** The sections of culvert.yaml that all of `scenarios` need together. */
export function configOf(scenarios: readonly Scenario[], closedPort: number) {
  const providers: Record<string, unknown> = {};
  const models: Record<string, unknown> = {};
  const plans: Record<string, unknown> = {};
  const keys: Record<string, unknown>[] = [];
  for (const { id, targets, concurrency, type } of scenarios) {
    for (const [index, { at }] of targets.entries()) {
      const port = at === 'closed' ? closedPort : at.port;
      const name = providerOf(id, index);
      providers[name] = { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: credentialOf(name) };
    }
    models[id] = {
      tier: 'premium',
      ...(type !== undefined && { type, space: 'mock' }),
      targets: targets.map(({ spec, priority = 1 }, index) => ({
        provider: providerOf(id, index),
        model: `mock/${spec}`,
        priority,
        price: { input: 1, output: 2 },
      })),
    };
    plans[id] = { windows: 'off', rpm: 'off', ...(concurrency !== undefined && { concurrency }) };
    for (const key of keysOf(id)) keys.push({ key, account: id, name: key, plan: id });
  }
  return { providers, models, plans, keys, sections: { admin: { key: adminKey } } };
}

export function keysOf(id: string): string[] {
  return Array.from({ length: keysEach }, (_, index) => `sk-cv-bench-${id}-key-000${index}`);
}

/** Whole and streamed chats of all keys in turns. */
export function callsOf(stage: Stage, count: number, more: Partial<Calls> = {}): Calls {
  const { url, scenario, keys } = stage;
  return { url, model: scenario.id, keys, form: 'both', count, patienceMs, ...more };
}

/** The usual load of a scenario. */
export function load(stage: Stage, more: Partial<Calls> = {}): Promise<CallSeen[]> {
  return openLoop(callsOf(stage, stage.perSecond * stage.seconds, more), stage.perSecond);
}

/** How many of `seen` were answered, against `atLeast` percent. */
export function answeredRow(what: string, seen: readonly CallSeen[], atLeast?: number): Row {
  const share = seen.filter(({ outcome }) => outcome === 'answered').length / seen.length;
  const limit = { unit: ' %', digits: 1, ...(atLeast !== undefined && { atLeast }) };
  return judged(`${what}: answered of ${seen.length}`, [share * 100], limit);
}

/** Facts of every scenario beside its figure; all sides are asked once it is over. */
export async function detailRows(stage: Stage, seen: readonly CallSeen[]): Promise<Row[]> {
  const { url, scenario } = stage;
  const upstreamCalls = async () => {
    const times = await callTimes(scenario);
    return Object.fromEntries(
      times.flatMap((at, index) => (at === null ? [] : [[providerOf(scenario.id, index), at.length]])),
    ) as Record<string, number>;
  };
  const wrong = await disagreements({ url, adminKey, account: scenario.id, seen, upstreamCalls });
  for (const sentence of wrong.slice(0, 10)) console.error(`${scenario.id}: ${sentence}`);
  const calls = Object.values(await upstreamCalls()).reduce((sum, count) => sum + count, 0);
  const ms = seen.map((call) => call.ms);
  const last = seen.toSorted((a, b) => a.sinceMs - b.sinceMs).slice(-100);
  const answeredLast = last.filter(({ outcome }) => outcome === 'answered').length;
  return [
    told(
      '… of the last 100; upstream calls a request; p50 / p99',
      `${answeredLast}; ${(calls / seen.length).toFixed(2)}; ${shown(percentile(ms, 0.5))} / ${shown(percentile(ms, 0.99))} ms`,
    ),
    judged('… callers, ledger, records and upstreams disagree in', [wrong.length], {
      atMost: 0,
      unit: ' places',
      digits: 0,
    }),
  ];
}

/** When each target's calls came in, wall-clock ms; null for a closed port. */
export async function callTimes({ id, targets }: Scenario): Promise<(readonly number[] | null)[]> {
  const asked = new Map<MockProcess, Promise<UpstreamCounts>>();
  for (const { at } of targets) if (at !== 'closed' && !asked.has(at)) asked.set(at, at.counts());
  return Promise.all(
    targets.map(async ({ at }, index) => {
      if (at === 'closed') return null;
      return (await asked.get(at))?.[credentialOf(providerOf(id, index))] ?? [];
    }),
  );
}

export function providerOf(id: string, index: number): string {
  return `${id}-${index + 1}`;
}

function credentialOf(provider: string): string {
  return `upstream-key-${provider}`;
}

function shown(ms: number): string {
  return ms.toFixed(ms < 10 ? 1 : 0);
}
