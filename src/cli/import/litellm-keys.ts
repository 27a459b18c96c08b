import type { JsonObject } from '../../kernel/json.ts';
import { filled, noteLeftOut } from './import-fields.ts';
import { type AccessGroups, modelsInAll, modelsOf } from './litellm-allowed-models.ts';
import type { LiteLlmRows } from './litellm-database.ts';
import { columnsLeftOut } from './litellm-left-out.ts';
import { limitsOf, tightest } from './litellm-limits.ts';
import type { Scope, Scopes } from './litellm-scopes.ts';
import type { Notes } from './notes.ts';
import { textOr } from './plain-values.ts';
import { uniqueName } from './unique-name.ts';

/** Keys that LiteLLM's dashboard makes for each login. */
export const dashboardTeam = 'litellm-dashboard';

/** Payer of a key. `organization`: whose limits the account has already. */
export interface Owner {
  account: string;
  organization: Scope | null;
}

interface Around {
  groups: AccessGroups;
  scopes: Scopes;
  ownerOf(key: JsonObject): Owner;
  notes: Notes;
  nowMs: number;
}

/** Keys by the hash that LiteLLM keeps, those of `LiteLLM_DeprecatedVerificationToken` too as long as it takes them. */
export function importKeys({ tables }: LiteLlmRows, { groups, scopes, ownerOf, notes, nowMs }: Around): JsonObject[] {
  const keys: JsonObject[] = [];
  const bySecret = new Map<unknown, { account: string; key: JsonObject; label: string }>();
  const namesOf = new Map<string, Record<string, unknown>>();
  const add = (sha256: unknown, account: string, label: string, key: JsonObject) => {
    const taken = namesOf.get(account) ?? {};
    namesOf.set(account, taken);
    const name = uniqueName(label, taken);
    taken[name] = true;
    keys.push({ sha256: String(sha256), account, name, ...key });
  };

  for (const row of tables.LiteLLM_VerificationToken) {
    if (row.team_id === dashboardTeam) continue;
    const label = textOr(row.key_alias, textOr(row.key_name, 'key'));
    const path = ['LiteLLM_VerificationToken', label];
    const between = scopes.ofKey(row);
    const why = whyNotTaken(row, nowMs) ?? whyBlocked(between);
    if (why !== null) {
      notes.add(path, `this key is not carried over: ${why}`);
      continue;
    }
    const whole = { ...scopes.budget(row.budget_id), ...filled(row) };
    noteLeftOut(whole, columnsLeftOut, path, notes);
    const owner = ownerOf(row);
    const organization = scopes.organization(row.organization_id);
    const above = organization === null || organization === owner.organization ? between : [...between, organization];
    for (const scope of above) scope.holders += 1;
    const models = modelsInAll([modelsOf(row, groups, path, notes), ...above.map((scope) => scope.models)]);
    const limits = tightest([limitsOf(whole, path, notes), ...above.map((scope) => scope.limits)]);
    const key: JsonObject = {
      ...(typeof row.expires === 'string' && { expires: instantOf(row.expires) }),
      ...(models !== null && { models }),
      ...(Object.keys(limits).length > 0 && { limits: { ...limits } }),
    };
    add(row.token, owner.account, label, key);
    bySecret.set(row.token, { account: owner.account, key, label });
  }
  for (const { token, active_token_id: active, revoke_at: expires } of tables.LiteLLM_DeprecatedVerificationToken) {
    const rotated = bySecret.get(active);
    if (rotated === undefined || typeof expires !== 'string' || whyNotTaken({ token, expires }, nowMs) !== null)
      continue;
    const { account, key, label } = rotated;
    add(token, account, `${label}-before`, { ...key, expires: instantOf(expires) });
  }
  return keys;
}

function whyNotTaken({ token, blocked, expires }: JsonObject, nowMs: number): string | null {
  if (typeof token !== 'string' || !/^[0-9a-f]{64}$/.test(token)) {
    return 'the database holds no SHA-256 of it, so its caller needs a new one';
  }
  if (blocked === true) return 'it is blocked';
  const end = typeof expires === 'string' ? Date.parse(instantOf(expires)) : nowMs + 1;
  if (Number.isNaN(end)) return 'its expiry is not a time';
  return end <= nowMs ? 'it has expired' : null;
}

function whyBlocked(above: readonly Scope[]): string | null {
  const blocking = above.find((scope) => scope.blocked);
  return blocking === undefined ? null : `${blocking.label} is blocked`;
}

/** LiteLLM keeps times of UTC without saying so. */
function instantOf(time: string): string {
  return `${time.replace(/(Z|[+-]\d\d:?\d\d)$/, '')}Z`;
}
