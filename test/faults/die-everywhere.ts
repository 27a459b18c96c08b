import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, type Books, booksOf } from './books-balance.ts';
import { type GatewayProcess, startGatewayProcess } from './gateway-process.ts';
import { isReady } from './replicas.ts';

const preload = fileURLToPath(new URL('./die-at-step.mjs', import.meta.url));
/** Far above what a request takes. */
const stepsMax = 150;

/** Result of dying at one step. */
export interface Death {
  /** How many steps were taken before. */
  at: number;
  /** The step that was not taken: `COMMIT`, `write upstream`, … */
  step: string;
  /** Those that were, in their order; some of them by the background. */
  taken: readonly string[];
  /** The upstream had been asked. */
  dispatched: boolean;
  /** The caller had seen something of the answer. */
  heard: boolean;
  /** Requests and units that the books have of it, as the next process finds them. */
  charged: { requests: number; units: number; as: readonly string[] };
}

export interface Deaths {
  deaths: Death[];
  /** Result of the request that was not killed. */
  survived: Death['charged'];
}

export interface DyingOptions {
  /** Storage and what else the configuration holds. */
  config: Record<string, unknown>;
  /** Names of the ports of shared stores, as the steps give them. */
  stores?: Readonly<Record<string, string>>;
  /** Members of the chat beside its message. */
  body?: Record<string, unknown>;
  /** Behaviour of the upstream; by default it answers at once. */
  spec?: string;
  /** After each death: the next process may take the dead one's requests at its start. */
  letTheDeadBeKnown?(): Promise<void>;
  /** Once a process has come up: the books, once what died is in them. */
  settledBooks?(url: string): Promise<Books>;
}

/** Kills a gateway before each step of one chat, a process a step, until one survives; all over the same stores. */
export async function dieEverywhere(t: TestContext, options: DyingOptions): Promise<Deaths> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const log = join(temporaryFolder(t), 'steps');
  appendFileSync(log, '');
  const { settledBooks = booksOf, stores = {} } = options;
  const places: Record<string, string> = { ...stores, [new URL(upstream.url).port]: 'upstream' };
  const deaths: Death[] = [];
  let before: Books | null = null;
  let last: Omit<Death, 'charged'> | null = null;
  const died = new Set<string>();
  let step = 0;
  for (let runs = 0; runs < stepsMax; runs++) {
    const under = [...dyingAt(step, log), `CULVERT_DIE_STORES=${Object.keys(stores)}`];
    const gateway = await startGatewayProcess(t, { ...overUpstreams(upstream.url), ...options.config }, { under });
    const ended = once(gateway.process, 'exit');
    await until('it is ready', () => isReady(gateway.url));
    const found = await settledBooks(gateway.url);
    if (before !== null && last !== null) {
      const charged = between(before, found);
      // Of background work after its end was written: it survived its own steps.
      const survived = charged.as[0]?.startsWith('ok') === true;
      if (survived && step > last.at) {
        gateway.process.kill('SIGKILL');
        await ended;
        return { deaths, survived: charged };
      }
      if (!survived) deaths.push({ ...last, charged });
      deaths.sort((a, b) => a.at - b.at);
    }
    // Connections are made and counters filled: only the chat itself is left.
    assert.equal((await ask(gateway.url)).status, 200);
    const now = await settledBooks(gateway.url);
    upstream.clear();
    if (options.spec !== undefined) upstream.script('/v1/chat/completions', [options.spec]);
    const asked = await ask(gateway.url, options.body, testKey, { 'x-die': 'yes' });
    assert.ok(asked.status === 0 || asked.status === 200, asked.text);
    const survived = asked.status === 0 ? null : await settledOf(gateway, now);
    // Background work takes steps too, so that this process may yet die of them.
    gateway.process.kill('SIGKILL');
    await ended;
    const path = pathsIn(log).at(-1)!.steps;
    if (survived !== null) {
      step = nextStep(path, died);
      if (step === path.length) return { deaths, survived: between(now, survived) };
      [before, last] = [null, null];
      continue;
    }
    await options.letTheDeadBeKnown?.();
    const named = path.map((one) => one.replace(/\d+$/, (port) => places[port] ?? port));
    last = {
      at: step,
      step: named.at(-1)!,
      taken: named.slice(0, -1),
      dispatched: upstream.requests().length > 0,
      heard: asked.text !== '',
    };
    before = now;
    died.add(String(path)).add(ending(path, path.length - 1));
    step = nextStep(path, died);
  }
  assert.fail(`more than ${stepsMax} steps`);
}

/**
 * Where to die after this. A step of the background may have been died at in place of the request's own. Up to the
 * answer that shows as a path that leads past somewhere nobody has died; from then on, where steps come in any order,
 * as a step that nobody has died before.
 */
function nextStep(path: readonly string[], died: ReadonlySet<string>): number {
  const answer = path.indexOf('write caller');
  const left = path.findIndex((_, at) => {
    const place = answer < 0 || at < answer ? String(path.slice(0, at + 1)) : ending(path, at);
    return !died.has(place);
  });
  return left < 0 ? path.length : left;
}

/** A step and the how manieth of its name it is. */
function ending(path: readonly string[], at: number): string {
  const name = path[at]!;
  return `${name} ${path.slice(0, at).filter((one) => one === name).length}`;
}

interface Path {
  steps: string[];
  /** Before the last of them. */
  died: boolean;
}

/** The way of each process as far as it got, a line a step. */
function pathsIn(log: string): Path[] {
  const lines = readFileSync(log, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Path);
}

/** Kills a gateway before each step of its own start until one comes up; the steps. */
export async function dieStarting(t: TestContext, config: Record<string, unknown>): Promise<string[]> {
  const log = join(temporaryFolder(t), 'steps');
  appendFileSync(log, '');
  for (let step = 0; step < stepsMax; step++) {
    const under = [...dyingAt(step, log), 'CULVERT_DIE_FROM=start'];
    const gateway = await startGatewayProcess(t, config, { under }).catch(() => null);
    if (gateway === null) continue;
    gateway.process.kill('SIGKILL');
    return pathsIn(log).flatMap(({ steps, died }) => (died ? [steps.at(-1)!] : []));
  }
  assert.fail(`more than ${stepsMax} steps`);
}

/** How a gateway is run so that it dies. */
function dyingAt(step: number, log: string): string[] {
  return ['env', `NODE_OPTIONS=--import=${preload}`, `CULVERT_DIE_AT=${step}`, `CULVERT_DIE_LOG=${log}`];
}

/** The books once the request is in them, as its end is written behind its answer; null when it died on the way. */
async function settledOf(gateway: GatewayProcess, before: Books): Promise<Books | null> {
  try {
    for (;;) {
      const books = await booksOf(gateway.url);
      if (books.open === 0 && books.events.length > before.events.length) return books;
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return null;
  }
}

function between(before: Books, after: Books): Death['charged'] {
  const known = new Set(before.events.map(({ id }) => id));
  return {
    requests: after.rolledUp.requests - before.rolledUp.requests,
    units: after.rolledUp.units - before.rolledUp.units,
    as: after.events.filter(({ id }) => !known.has(id)).map((event) => `${event.class} ${event.usage.source}`),
  };
}
