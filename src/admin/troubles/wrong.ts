import { z } from 'zod';
import type { Operator } from '../../books/auth/operator.ts';
import type { UsageEvent } from '../../books/metering/ledger.ts';
import type { SeenAlert } from '../../books/metering/notices/next-alerts.ts';
import { aliasFor } from '../../config/alias-pattern.ts';
import { shadowVariant } from '../../config/cross-check-models.ts';
import { cachesPrompts } from '../../inference/models/create-alias.ts';
import { budgetedIn } from '../../inference/models/unpriced.ts';
import { FailureError } from '../../kernel/failure.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import type { LaneSnapshot } from '../../routing/health-snapshot.ts';
import type { Target } from '../../routing/target.ts';
import type { AccountScope } from '../account-scope.ts';
import { clusterFindings } from '../cluster.ts';
import { budgetedBy, type Directory, type Records } from '../directory.ts';
import { closedOut, lanesByProvider, providerStatus, recentAttempts } from '../entries/provider-status.ts';
import { type Finding, pageField } from '../finding.ts';
import type { AdminParts } from '../parts.ts';
import { notAllowed } from '../roles.ts';
import { limitTroubles } from './limit-troubles.ts';
import { problem, type Trouble, warning, within } from './trouble.ts';

export const wrongSchema = z.object({
  severity: z.enum(['problem', 'warning']).describe('problem: requests fail.'),
  text: z.string().describe('A sentence.'),
  page: pageField.describe('The page that shows more; for settings, the findings of the doctor.'),
  id: z.string().nullable().describe('The entry of that page; null: the page as a whole.'),
});

export type Wrong = z.output<typeof wrongSchema>;

/** Present problems. The overview and the doctor use the same findings, so that they cannot disagree. */
export type TroubleWatch = ReturnType<typeof createTroubleWatch>;

/** `alert`: its name among alerts, where it is not `check`. */
type Found = Finding & Pick<Trouble, 'account' | 'alert' | 'ofKeys'>;

const reusedForMs = 5_000;
const storedMaxMs = 5_000;
const errorSpanMs = 5 * 60_000;
/** Fewer requests say nothing of a rate. */
const errorRequestsMin = 20;
const errorRowsMax = 1_000;

/** Looks for problems when it is asked; for the overview at most once in `reusedForMs`, however many pages are open. */
export function createTroubleWatch(parts: AdminParts, records: Records) {
  let known: { atMs: number; found: Promise<Found[]> } | null = null;

  async function look(stored: (troubles: Promise<Trouble[]>) => Promise<Trouble[]>): Promise<Found[]> {
    const [findings, ofReplicas, ofAccounts, ofRequests, ofVariants] = await Promise.all([
      budgeted(parts, records).then(parts.findings),
      // A store that cannot be asked is a finding itself.
      parts.processes().then(
        (seen) => clusterFindings(seen, parts.clock.wallMs()),
        () => [],
      ),
      stored(noneWhenDown(accountTroubles(parts, records))),
      stored(noneWhenDown(requestTroubles(parts))),
      stored(noneWhenDown(variantTroubles(parts))),
    ]);
    const ofUpstreams = [
      ...providerTroubles(parts),
      ...modelTroubles(parts),
      ...retirements(parts),
      ...storedEntryTroubles(parts),
    ];
    const troubles = [...ofUpstreams, ...ofAccounts, ...ofRequests, ...ofVariants];
    const troubled = new Set(troubles.map(({ check }) => check));
    const others = [...findings, ...ofReplicas].filter(({ check, state }) => state !== 'ok' || !troubled.has(check));
    return [...others.map((finding) => ({ ...finding, account: null })), ...troubles];
  }

  function lookNow(): Promise<Found[]> {
    const found = look((troubles) => troubles);
    known = { atMs: parts.clock.monotonicMs(), found };
    found.catch(() => {
      known = null;
    });
    return found;
  }

  return {
    /** The problems that an operator of these accounts may see, and those of no account; the worst first. */
    async wrong(scope: AccountScope, operator: Operator): Promise<Wrong[]> {
      const fresh = known !== null && parts.clock.monotonicMs() - known.atMs < reusedForMs ? known.found : null;
      const found = await (fresh ?? lookNow());
      return visible(found, scope, operator)
        .flatMap((found): Wrong[] => {
          const { state, page = 'settings', id = null } = found;
          return state === 'ok' ? [] : [{ severity: state, text: sentenceOf(found), page, id }];
        })
        .sort((a, b) => (a.severity === b.severity ? 0 : a.severity === 'problem' ? -1 : 1));
    },
    /** Problems that an operator is to be called for, looked up anew. */
    async alerts(): Promise<SeenAlert[]> {
      return withFewKeys(await look(orNone)).flatMap((found): SeenAlert[] => {
        const { state, fix } = found;
        const name = alertOf(found);
        return state === 'ok' || name === null ? [] : [{ name, severity: state, text: sentenceOf(found), fix }];
      });
    },
    /** Looks again, and lists what is well, too. */
    async findings(operator: Operator): Promise<Finding[]> {
      const found: Found[] = [...(await lookNow()), ...(await noneWhenDown(promptCacheTroubles(parts)))];
      return visible(found, operator.accounts, operator).map(
        ({ account: _, alert: __, ofKeys: ___, ...finding }) => finding,
      );
    },
  };
}

/** Without the database, problems of accounts are unknown; an alert about the rest does not wait for it. */
function orNone(troubles: Promise<Trouble[]>): Promise<Trouble[]> {
  const known = troubles.catch(() => []);
  return withinMs(storedMaxMs, known, []);
}

/** Accounts, counters or books that cannot be asked are reported as stores in trouble. */
async function noneWhenDown<T>(troubles: Promise<T[]>): Promise<T[]> {
  try {
    return await troubles;
  } catch (error) {
    if (error instanceof FailureError) return [];
    throw error;
  }
}

function visible(found: readonly Found[], scope: AccountScope, operator: Operator): Found[] {
  const seen = found.filter(
    ({ account, page = 'settings' }) =>
      (scope === null || account === null || scope.includes(account)) &&
      notAllowed(operator, page === 'mcp-servers' ? 'providers' : page, 'read') === null,
  );
  return withFewKeys(seen);
}

/**
 * Stays the same while the problem lasts; null: nobody is called for it. Quota that is used up is the plan's business,
 * and a warning about the setup can wait.
 */
function alertOf({ alert, state, check, page }: Found): string | null {
  if (alert !== undefined) return alert;
  if (page === 'accounts') return null;
  const isCall = check === 'disk' || /^(?:sink|saml) /.test(check) || page === 'mcp-servers';
  return state === 'problem' || isCall ? check : null;
}

function sentenceOf({ check, message }: Finding): string {
  return message.endsWith('.') ? message : `${capital(check)}: ${message}.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function providerTroubles({ snapshots, health, clock }: AdminParts): Trouble[] {
  const { models, providers } = snapshots.current;
  const nowMs = clock.monotonicMs();
  const targets = Map.groupBy(models.targets(), ({ provider }) => provider);
  const lanes = lanesByProvider(health, nowMs);
  return [...providers.keys()].flatMap((name): Trouble[] => {
    const providerLanes = lanes.get(name) ?? [];
    const [first] = providerLanes.filter(({ standing }) => standing !== 'ready' && standing !== 'full');
    const status = providerStatus(health, targets.get(name) ?? [], providerLanes, nowMs);
    const because = first === undefined ? '' : `: ${first.why}, ${backAgain(first, nowMs)}`;
    if (status === 'down') return [problem(`The provider ${name} is down${because}.`, 'providers', name)];
    if (status === 'failing') {
      const { failed, attempts } = recentAttempts(providerLanes);
      const share = `${failed} of its ${attempts} attempts within the last minute failed`;
      return [warning(`The provider ${name} is failing: ${share}.`, 'providers', name)];
    }
    if (first === undefined) return [];
    const word = first.standing === 'cooling' ? 'is cooling down' : 'is not asked for a while';
    const which = first.target.slice(name.length + 1);
    return [warning(`The provider ${name} ${word} for ${which}${because}.`, 'providers', name)];
  });
}

function backAgain({ standing, backAtMs }: LaneSnapshot, nowMs: number): string {
  if (standing === 'due' || standing === 'probing') return 'the next request tries it again';
  return backAtMs === null ? 'until it answers' : `back ${within(backAtMs - nowMs)}`;
}

function modelTroubles({ snapshots, health, clock }: AdminParts): Trouble[] {
  const nowMs = clock.monotonicMs();
  const { models } = snapshots.current;
  const standings = new Map(
    health.snapshot(nowMs).map(({ target, credential, standing }) => [`${target} ${credential}`, standing]),
  );
  const failed = ({ id, credentials }: Target) =>
    credentials.every((credential) => closedOut.includes(standings.get(`${id} ${credential.id}`) ?? 'ready'));
  const down = models.named.filter((alias) => {
    const targets: Target[] = alias.candidates.map(({ target }) => target);
    return targets.every(failed) || health.status(targets, nowMs) === 'down';
  });
  const unheard = models.unheard.map((name) =>
    warning(`The provider ${name} has not given its list of models yet.`, 'providers', name),
  );
  return [...down.map(({ id }) => problem(`The model ${id} has no healthy target.`, 'models', id)), ...unheard];
}

/** A model that ends within this time is named. */
const retirementWarningMs = 30 * 86_400_000;

/** Models of the configuration with targets that their providers shut down soon. */
function retirements({ snapshots, clock }: AdminParts): Trouble[] {
  const untilMs = clock.wallMs() + retirementWarningMs;
  return snapshots.current.models.named.flatMap(({ id, candidates }): Trouble[] => {
    const ending = candidates
      .map(({ target }) => target)
      .filter(({ retiresOn }) => retiresOn !== undefined && Date.parse(retiresOn) <= untilMs)
      .map((target) => `${target.id} on ${target.retiresOn}`);
    if (ending.length === 0) return [];
    const text = `Providers shut down targets of the model ${id}: ${ending.join(', ')}.`;
    const name = `retirement ${id}`;
    const fix = 'Give the model a target in its place, before requests fail or get another model.';
    return [{ ...warning(text, 'models', id), check: name, alert: name, fix }];
  });
}

/** Stored plans that a later version cannot read: their accounts have the default plan meanwhile. */
function planTroubles({ plans }: AdminParts, { stored, config }: Directory): Trouble[] {
  const book = plans();
  return stored.plans
    .filter(({ name }) => !book.has(name))
    .map(({ name }) =>
      problem(
        `The plan ${name} cannot be read any more. Its accounts have the plan ${config.default_plan}.`,
        'plans',
        name,
      ),
    );
}

/** Providers and models that were set up at run time and cannot be used. */
function storedEntryTroubles({ setup }: AdminParts): Trouble[] {
  return [...setup.report().problems].map(([key, sentence]) => {
    const [kind, name = ''] = key.split(' ');
    return problem(sentence, kind?.startsWith('model') ? 'models' : 'providers', name);
  });
}

/** Keys of the configuration that an operator blocked: their secrets are still in the file. */
function blockedKeys({ keys }: Directory): Trouble[] {
  const blocked = keys.filter(({ from, revokedMs }) => from === 'configuration' && revokedMs !== null);
  return blocked.map(({ id, account, name }) => {
    const text = `The key '${name}' of account '${account}' is blocked, and its secret is in the configuration.`;
    const fix = 'Write a new secret there, or lift the block: culvert keys restore.';
    return { ...warning(text, 'keys', id), account, fix, ofKeys: 'blocked' };
  });
}

/** How long before its end, and after it, a key is named. */
const expiryWarningMs = 7 * 86_400_000;
/** The key of a shorter life ends as it was made to. */
const lifeMinMs = 14 * 86_400_000;
/** Keys of each kind that are named. */
const keysMax = 50;

/** Keys that end within a week, or did within the last one: their callers get 401 then. Those that end first come first. */
function expiringKeys({ clock }: AdminParts, { keys }: Directory): Trouble[] {
  const nowMs = clock.wallMs();
  const expiring = keys.flatMap(({ id, account, name, expiresMs, revokedMs, row }) => {
    const leftMs = (expiresMs ?? 0) - nowMs;
    if (expiresMs === null || revokedMs !== null || Math.abs(leftMs) > expiryWarningMs) return [];
    if (row !== null && expiresMs - row.createdMs < lifeMinMs) return [];
    // An alert that ended at the key's end would say that all is well.
    const ends = leftMs > 0 ? `expires ${within(leftMs)}` : 'has expired';
    const text = `The key '${name}' of account '${account}' ${ends}.`;
    const more =
      row === null ? 'expires of the key in culvert.yaml' : `culvert keys change ${account}/${name} --expires 90d`;
    const fix = `Give it more time, or its callers another key and revoke this one: ${more}`;
    const alert = `key ${account}/${name} expires`;
    return [{ leftMs, ...warning(text, 'keys', id), account, alert, fix, ofKeys: 'expiring' as const }];
  });
  return expiring.sort((a, b) => a.leftMs - b.leftMs).map(({ leftMs: _, ...trouble }) => trouble);
}

/** All troubles, and the first ones of the keys that expire and of those that are blocked. */
function withFewKeys(found: readonly Found[]): Found[] {
  const counts = { expiring: 0, blocked: 0 };
  return found.filter(({ ofKeys }) => ofKeys === undefined || ++counts[ofKeys] <= keysMax);
}

/** Models that budgets in USD count; of the configuration alone where the store does not answer in time. */
async function budgeted({ snapshots }: AdminParts, records: Records): Promise<ReadonlySet<string>> {
  const known = records.current(null).catch(() => null);
  const directory = await withinMs(storedMaxMs, known, null);
  return directory === null ? budgetedIn(snapshots.current.config) : budgetedBy(directory);
}

async function accountTroubles(parts: AdminParts, records: Records): Promise<Trouble[]> {
  const directory = await records.current(null);
  const others = [...planTroubles(parts, directory), ...blockedKeys(directory), ...expiringKeys(parts, directory)];
  return [...others, ...(await records.asking(() => limitTroubles(parts, directory)))];
}

/** Requests that failed for no reason of their callers, such as broken streams. Those who left are none. */
async function requestTroubles({ ledger, clock, snapshots }: AdminParts): Promise<Trouble[]> {
  const nowMs = clock.wallMs();
  const fromMs = nowMs - errorSpanMs;
  const most = snapshots.current.config.telemetry.alerts.error_rate;
  const span = { fromMs, toMs: nowMs + 60_000, grain: 'minute', stepMs: errorSpanMs * 2 } as const;
  const points = await ledger.traffic({ ...span, kind: 'all', names: [''] });
  const requests = points.reduce((sum, point) => sum + point.requests, 0);
  const errors = points.reduce((sum, point) => sum + point.errors, 0);
  if (requests < errorRequestsMin || errors < requests * most) return [];
  const where = { class: 'failed' };
  const query = { accounts: null, where, sinceMs: fromMs, untilMs: null, after: null, cursor: null };
  const { events } = await ledger.list({ ...query, limit: errorRowsMax });
  const failed = events.filter(isOurs).length;
  if (failed < requests * most) return [];
  const many = failed === errorRowsMax ? `${failed} and more` : String(failed);
  const text = `${many} of ${requests} requests of the last five minutes failed.`;
  return [{ ...warning(text, 'requests', ''), check: 'requests', id: null, alert: 'error rate' }];
}

/** Variants that were taken out: their callers have another one meanwhile. */
async function variantTroubles({ ledger, snapshots }: AdminParts): Promise<Trouble[]> {
  if (!snapshots.current.varies) return [];
  const found = snapshots.current.models.all().map(async ({ id, variants }) => {
    if (variants?.shape === undefined) return [];
    const states = await ledger.experiments.states({ alias: id, shape: variants.shape });
    return states.flatMap(({ variant, out }): Trouble[] => {
      if (out === null) return [];
      const text = `The variant ${variant} of the model ${id} is out since ${new Date(out.atMs).toISOString()}: ${out.reason}.`;
      const name = `variant ${id}/${variant}`;
      const fix = `Change the variant, or let it take part again: culvert models restore ${id} ${variant}`;
      return [{ ...warning(text, 'models', id), check: name, alert: name, fix }];
    });
  });
  return (await Promise.all(found)).flat();
}

/** A failure of a tool of an MCP server is between its caller and that server. Nobody waits for a shadow. */
function isOurs({ aborted, status, variant, class: outcome }: UsageEvent): boolean {
  return !aborted && variant !== shadowVariant && outcome !== 'tool-error' && (status >= 500 || status < 400);
}

const spanMs = 24 * 3_600_000;
const rowsMax = 1_000;
/** Shorter prompts are not kept everywhere, and save little. */
const inputTokensMin = 2_048;
const requestsMin = 20;
const cachedShareMin = 0.1;

type Uncached = Finding & { state: 'warning'; page: 'models'; account: null };

/** Aliases whose prompts are long and come from no cache, though their provider has one; of the newest requests. */
async function promptCacheTroubles({ ledger, clock, snapshots }: AdminParts): Promise<Uncached[]> {
  const sinceMs = clock.wallMs() - spanMs;
  const query = { accounts: null, where: { class: 'ok' }, sinceMs, untilMs: null, after: null, cursor: null };
  const { events } = await ledger.list({ ...query, limit: rowsMax });
  const { config, models, providers } = snapshots.current;
  const targets = new Map([...models.targets()].map((target) => [target.id, target]));
  const isLong = ({ target: id, usageSource, inputTokens }: UsageEvent): boolean => {
    const target = targets.get(id ?? '');
    if (target === undefined || usageSource !== 'upstream' || inputTokens < inputTokensMin) return false;
    const caching = providers.get(target.provider)?.connection.provider.promptCaching?.(target.model) ?? null;
    return caching !== null;
  };
  return [...Map.groupBy(events.filter(isLong), ({ alias }) => alias)].flatMap(([alias, requests]) => {
    const model = aliasFor(config.models, alias)?.model;
    const modelCachesPrompts = model !== undefined && cachesPrompts(model);
    return findingOf(alias, requests, modelCachesPrompts);
  });
}

function findingOf(alias: string, requests: readonly UsageEvent[], modelCachesPrompts: boolean): Uncached[] {
  const input = requests.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  const cached = requests.reduce((sum, { cachedInputTokens }) => sum + cachedInputTokens, 0);
  if (requests.length < requestsMin || cached >= input * cachedShareMin) return [];
  const share = `${Math.round((cached / input) * 100)}%`;
  const message = `Of the input of ${requests.length} long requests for '${alias}', ${share} came from its provider's cache.`;
  const fix = modelCachesPrompts
    ? 'The beginning of its prompts probably changes. Put what stays the same first (tools, instructions, documents), and dates, ids and questions last.'
    : `Set prompt_cache: auto for '${alias}'. If that changes nothing, the beginning of its prompts changes: put what stays the same first, and dates, ids and questions last.`;
  return [
    { check: `prompt cache of ${alias}`, state: 'warning', message, fix, page: 'models', id: alias, account: null },
  ];
}
