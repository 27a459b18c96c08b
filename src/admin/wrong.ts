import { z } from 'zod';
import type { Operator } from '../auth/operator.ts';
import type { Target } from '../inference/routing/target.ts';
import { FailureError } from '../kernel/failure.ts';
import { type LimitReading, readLimits } from '../metering/limit-view.ts';
import { type WindowName, windowLabels, windowNames } from '../metering/window.ts';
import type { Directory, KnownAccount, Records } from './directory.ts';
import type { AdminParts } from './parts.ts';
import { notAllowed } from './roles.ts';
import type { AccountScope } from './scope.ts';

export const wrongSchema = z.object({
  severity: z.enum(['problem', 'warning']).describe('problem: requests fail.'),
  text: z.string().describe('A sentence.'),
  page: z
    .enum(['providers', 'models', 'accounts', 'plans', 'settings'])
    .describe('The page that shows more; of settings, the findings of the doctor.'),
  id: z.string().nullable().describe('Which one there; null: the page as a whole.'),
});

export type Wrong = z.output<typeof wrongSchema>;

/** With whose it is; null: nobody's in particular. */
type Found = Wrong & { account: string | null };

const keptMs = 5_000;
const fullShare = 0.9;
/** Those whose windows are looked at: who used most within a month. */
const accountsMax = 50;
const keysMax = 10;
const monthMs = 30 * 86_400_000;
const diskShareMin = 0.1;

/** Looks for what is wrong when it is asked, at most once in `keptMs`, however many pages are open. */
export function createTroubleWatch(parts: AdminParts, records: Records) {
  let known: { atMs: number; found: Promise<Found[]> } | null = null;

  async function look(): Promise<Found[]> {
    const directory = await records.current(null);
    const found = [
      ...storeTroubles(parts),
      ...diskTroubles(parts),
      ...providerTroubles(parts),
      ...modelTroubles(parts),
      ...planTroubles(parts, directory),
      ...keptTroubles(parts),
      ...(await fullWindows(parts, directory)),
    ];
    return found.sort((a, b) => (a.severity === b.severity ? 0 : a.severity === 'problem' ? -1 : 1));
  }

  return {
    /** What the operator may see of it, of these accounts and of nobody's in particular. */
    async now(scope: AccountScope, operator: Operator): Promise<Wrong[]> {
      const nowMs = parts.clock.monotonicMs();
      if (known === null || nowMs - known.atMs >= keptMs) {
        const found = look();
        known = { atMs: nowMs, found };
        found.catch(() => {
          known = null;
        });
      }
      const found = await known.found;
      return found
        .filter(({ account }) => scope === null || account === null || scope.includes(account))
        .filter(({ page }) => notAllowed(operator, page, 'read') === null)
        .map(({ account: _, ...wrong }) => wrong);
    },
  };
}

function storeTroubles({ troubles }: AdminParts): Found[] {
  return Object.entries(troubles()).flatMap(([name, trouble]) =>
    trouble === null ? [] : [problem(`${named(name)} cannot be used: ${trouble}`, 'settings', null)],
  );
}

function named(store: string): string {
  return store === 'folder' ? 'The data folder' : store === 'counters' ? 'The counters' : `The ${store}`;
}

function diskTroubles({ disk }: AdminParts): Found[] {
  const room = disk();
  if (room === null || room.freeBytes >= room.sizeBytes * diskShareMin) return [];
  const free = `${(room.freeBytes / 1e9).toFixed(1)} GB`;
  const text = `The disk of the data folder is filling: ${free} of ${(room.sizeBytes / 1e9).toFixed(0)} GB are free`;
  return [warning(`${text}. A full disk refuses every request.`, 'settings', null)];
}

function providerTroubles({ snapshot, health, clock }: AdminParts): Found[] {
  const { models, providers } = snapshot();
  const nowMs = clock.monotonicMs();
  const targets = Map.groupBy(models.targets(), ({ provider }) => provider);
  const lanes = Map.groupBy(health.snapshot(nowMs), ({ target }) => target.slice(0, target.indexOf('/')));
  return [...providers.keys()].flatMap((name): Found[] => {
    const own = targets.get(name) ?? [];
    const status = own.length === 0 ? 'healthy' : health.status(own, nowMs);
    const resting = (lanes.get(name) ?? []).filter(({ standing }) => standing !== 'ready' && standing !== 'full');
    const [first] = resting;
    if (first === undefined && status !== 'down') return [];
    const why = first?.why ?? null;
    const because = why === null ? '' : `: ${why}`;
    const back = first?.backAtMs ?? null;
    const until = back === null ? '' : `, back ${within(back - nowMs)}`;
    if (status === 'down') return [problem(`The provider ${name} is down${because}${until}.`, 'providers', name)];
    const which = first === undefined ? '' : ` for ${first.target.slice(name.length + 1)}`;
    const word = first?.standing === 'cooling' ? 'is cooling down' : 'is closed out';
    return [warning(`The provider ${name} ${word}${which}${because}${until}.`, 'providers', name)];
  });
}

function modelTroubles({ snapshot, health, clock }: AdminParts): Found[] {
  const nowMs = clock.monotonicMs();
  const { models } = snapshot();
  const down = models.named.filter((alias) => {
    const targets: Target[] = alias.candidates.map(({ target }) => target);
    return targets.length === 0 || health.status(targets, nowMs) === 'down';
  });
  const unheard = models.unheard.map((name) =>
    warning(`The provider ${name} has not told its models yet.`, 'providers', name),
  );
  return [...down.map(({ id }) => problem(`The model ${id} has no healthy target.`, 'models', id)), ...unheard];
}

/** Stored plans that a later version cannot read: their accounts have the default plan meanwhile. */
function planTroubles({ plans }: AdminParts, { stored, config }: Directory): Found[] {
  const book = plans();
  return stored.plans
    .filter(({ name }) => !book.has(name))
    .map(({ name }) =>
      problem(
        `The plan ${name} cannot be read any more; its accounts have the plan ${config.default_plan}.`,
        'plans',
        name,
      ),
    );
}

/** Providers and models that were set up at run time and cannot be used. */
function keptTroubles({ setup }: AdminParts): Found[] {
  return [...setup.report().problems].map(([key, sentence]) => {
    const [kind, name = ''] = key.split(' ');
    return problem(sentence, kind?.startsWith('model') ? 'models' : 'providers', name);
  });
}

async function fullWindows(parts: AdminParts, directory: Directory): Promise<Found[]> {
  const { ledger, counters, clock, plans } = parts;
  if (counters === null) return [];
  const nowMs = clock.wallMs();
  try {
    const used = await ledger.usage({
      accounts: null,
      where: {},
      groupBy: 'account',
      splitBy: null,
      fromMs: nowMs - monthMs,
      toMs: nowMs + 1,
    });
    const accounts = used.slice(0, accountsMax).flatMap(({ group }) => directory.account(group) ?? []);
    const found = await Promise.all(accounts.map((account) => fullOf(account)));
    return found.flat();
  } catch (error) {
    // Counters or books that cannot be asked are told as stores that are in trouble.
    if (error instanceof FailureError) return [];
    throw error;
  }

  async function fullOf({ id, plan: planName }: KnownAccount): Promise<Found[]> {
    const plan = plans().plan(planName);
    const whole = { account: id, plan, own: null };
    if (plan.scope === 'account') {
      return fullIn(id, id, await readLimits(counters!, { ...whole, tenant: null }), nowMs);
    }
    const keys = directory.keys.filter((key) => key.account === id && key.revokedMs === null).slice(0, keysMax);
    const found = keys.map(async ({ tenant }) =>
      fullIn(tenant, id, await readLimits(counters!, { ...whole, tenant }), nowMs),
    );
    return (await Promise.all(found)).flat();
  }
}

type Readings = Awaited<ReturnType<typeof readLimits>>;

function fullIn(who: string, account: string, { windows, tokens, budget }: Readings, nowMs: number): Found[] {
  const say = (reading: LimitReading, what: string, amounts: (used: number, allowed: number) => string): Found[] => {
    const { used, allowed, resets_at: freesAt } = reading;
    if (allowed === null || allowed <= 0 || used < allowed * fullShare) return [];
    const share = Math.floor((used / allowed) * 100);
    const frees = freesAt === null ? '' : `; the next of it frees ${within(Date.parse(freesAt) - nowMs)}`;
    const text = `${who} has used ${share} % of ${what} (${amounts(used, allowed)}${frees}).`;
    const make = used >= allowed ? problem : warning;
    return [{ ...make(text, 'accounts', account), account }];
  };
  const shown = (value: number) => value.toLocaleString('en', { maximumFractionDigits: value < 100 ? 1 : 0 });
  const plain = (unit: string) => (used: number, allowed: number) => `${shown(used)} of ${shown(allowed)} ${unit}`;
  const usd = (used: number, allowed: number) => `$${used.toFixed(2)} of $${allowed.toFixed(2)}`;
  return windowNames.flatMap((window: WindowName) => [
    ...say(windows[window], `its ${windowLabels[window]}`, plain('units')),
    ...say(tokens[window], `the tokens of its ${windowLabels[window]}`, plain('tokens')),
    ...say(budget[window], `the budget of its ${windowLabels[window]}`, usd),
  ]);
}

function within(ms: number): string {
  if (ms < 1_000) return 'in a moment';
  if (ms < 120_000) return `in ${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `in ${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `in ${Math.round(ms / 3_600_000)} h` : `in ${Math.round(ms / 86_400_000)} days`;
}

function problem(text: string, page: Wrong['page'], id: string | null): Found {
  return { severity: 'problem', text, page, id, account: null };
}

function warning(text: string, page: Wrong['page'], id: string | null): Found {
  return { severity: 'warning', text, page, id, account: null };
}
