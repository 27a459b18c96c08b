// One process over one driver: what a request pays for its limits, its reservation and its settlement.
// Forked by run.ts, which sends a `Load` at a time and gets `Figures` back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Principal } from '../../src/books/auth/principal.ts';
import type { Admission, Claim, RequestFacts, Settlement } from '../../src/books/metering/admission.ts';
import { createPlanBook } from '../../src/books/metering/plan-book.ts';
import { createLimitedAdmission } from '../../src/books/metering/quota.ts';
import { createSettledLimits, createSettlement } from '../../src/books/metering/settlement.ts';
import { checkConfigText } from '../../src/config/check.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { Failure } from '../../src/kernel/failure.ts';
import { newRequestId } from '../../src/kernel/ids.ts';
import { openStores } from '../../src/main/stores.ts';
import { openDataFolder } from '../../src/stores/sqlite/data-folder.ts';
import { allLimits } from '../gateway/processes.ts';
import { eventOf, reservation } from '../ledger/rows.ts';
import { percentile } from '../percentile.ts';

export interface Driver {
  database: string;
  state: string;
}

/** `nothing`: the callers alone, without admission, reservation or settlement. */
export type Metered = 'nothing' | 'no limits' | 'every limit';

export interface Load {
  metered: Metered;
  concurrency: number;
  requests: number;
}

export interface Figures {
  /** CPU of this process, all threads. */
  usPerRequest: number;
  perSecond: number;
  /** From the request for admission until the reservation is in the ledger. */
  waitP50Ms: number;
  waitP99Ms: number;
  /** Counters or books that did not answer in time; such a request ends there. */
  refused: number;
}

// As the process that it stands for.
const { keepMemorySmall } = await import(new URL('../../bin/v8-memory.mjs', import.meta.url).href);
keepMemorySmall();
const driver = JSON.parse(process.argv[2] ?? '{}') as Driver;
const dir = mkdtempSync(join(tmpdir(), 'culvert-metering-'));
const read = checkConfigText(
  `storage: { data_dir: ${dir}, database: "${driver.database}", state: "${driver.state}", secret: "${'Bench'.repeat(9)}" }
tiers: { premium: off }
plans: { all: ${allLimits}, none: { windows: off, rpm: off, tier_limits: off } }`,
  'bench.yaml',
  {},
);
if (!read.ok) throw new Error(read.errors.map(({ message }) => message).join('; '));
const { config } = read;
const book = createPlanBook({ config, stored: [] });
const onTrouble = (message: string) => console.error(message);
const stores = await openStores({ config, folder: openDataFolder(dir), clock: systemClock, onTrouble });
const { counters, ledger, bootId } = stores;
const plans = () => book;
const observe = () => undefined;
const admission: Admission = createLimitedAdmission({ counters, ledger, plans, bootId, clock: systemClock, observe });
const settlement: Settlement = createSettlement(ledger, createSettledLimits({ counters, plans, observe }), plans);

process.on('message', async (load: Load | 'end') => {
  if (load !== 'end') {
    process.send?.(await measure(load));
    return;
  }
  await stores.close();
  rmSync(dir, { recursive: true, force: true });
  process.exit(0);
});
/** Counters that were only just reached, and a caller's past that is being read, refuse for a moment. */
async function untilAdmitted(metered: Metered): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const nowMs = Date.now();
    const end = await begin(callerOf(metered), newRequestId(nowMs), nowMs, new Float64Array(1), 0);
    if (end !== null) return end();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('nothing is admitted');
}

function callerOf(metered: Metered): Principal {
  const plan = metered === 'every limit' ? 'all' : 'none';
  return {
    keyId: 'bench',
    keyName: 'bench',
    tenant: `${plan}/bench`,
    account: plan,
    plan,
    allowedModels: null,
    limits: null,
    guards: [],
  };
}

/** What the pipeline knows at a request's end: its attempt and its usage. */
const { route, target } = eventOf(reservation());
const facts: Omit<RequestFacts, 'claim'> = {
  clientRequestId: null,
  delivery: 'whole',
  status: 200,
  class: 'ok',
  stream: false,
  aborted: false,
  ms: 12,
  firstTokenMs: 3,
  target,
  price: null,
  usage: { inputTokens: 40, outputTokens: 400 },
  usageSource: 'upstream',
  besideUsd: 0,
  user: null,
  tag: null,
  route,
};

async function measure({ metered, concurrency, requests }: Load): Promise<Figures> {
  const principal = callerOf(metered);
  const waits = new Float64Array(requests);
  let started = 0;
  let refused = 0;
  const caller = async () => {
    while (started < requests) {
      const at = started;
      started += 1;
      work(15);
      const atMs = Date.now();
      const requestId = newRequestId(atMs);
      const end = metered === 'nothing' ? null : await begin(principal, requestId, atMs, waits, at);
      if (end === null && metered !== 'nothing') refused += 1;
      // The upstream's answer, in another turn.
      await new Promise((resolve) => setTimeout(resolve, 1));
      work(15);
      end?.();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  };
  const startMs = performance.now();
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: concurrency }, caller));
  const cpu = process.cpuUsage(before);
  const sorted = [...waits].sort((a, b) => a - b);
  return {
    usPerRequest: (cpu.user + cpu.system) / requests,
    perSecond: (requests / (performance.now() - startMs)) * 1_000,
    waitP50Ms: percentile(sorted, 0.5),
    waitP99Ms: percentile(sorted, 0.99),
    refused,
  };
}

/** Admits and reserves; the result settles and gives the place back. Null: unavailable. */
async function begin(principal: Principal, requestId: string, atMs: number, waits: Float64Array, at: number) {
  const beforeMs = performance.now();
  const granted = admission.admit(principal, 'one', { requestId, form: 'openai' });
  const admitted = granted instanceof Promise ? await granted : granted;
  if (admitted.kind !== 'admitted') return unavailable(admitted);
  const claim: Claim = {
    requestId,
    principal,
    admitted,
    endpoint: 'chat',
    alias: 'smart',
    tier: 'premium',
    costMilli: 1_000,
    inputTokensEstimate: 40,
    atMs,
  };
  const reserved = await admission.reserve(claim);
  if (reserved.kind !== 'reserved') {
    admitted.release();
    return unavailable(reserved);
  }
  waits[at] = performance.now() - beforeMs;
  return () => {
    settlement.settle(reserved, { ...facts, claim });
    admitted.release();
  };
}

function unavailable(failure: Failure): null {
  if (failure.kind !== 'quota-unavailable') throw new Error(JSON.stringify(failure));
  return null;
}

/** Stands for the rest of the request's work, so that turns of the loop are as long as a gateway's. */
function work(us: number): void {
  const end = performance.now() + us / 1_000;
  while (performance.now() < end);
}

for (const metered of ['no limits', 'every limit'] as const) await untilAdmitted(metered);
process.send?.('ready');
