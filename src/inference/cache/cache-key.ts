import { hash } from 'node:crypto';
import type { Principal } from '../../books/auth/principal.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import { sortedNames } from '../../kernel/sorted-names.ts';
import type { RouteCandidate } from '../../routing/route.ts';
import type { Alias, AliasCache } from '../models/alias.ts';
import type { ConfiguredProvider } from '../models/connections.ts';
import type { Canonical } from '../models/steps.ts';
import type { CachedForm } from '../spine/endpoint.ts';
import type { ModelCall } from '../spine/model-call.ts';
import type { RequestFacts } from '../spine/request-body.ts';

/** Where an answer is kept. Two requests share one only where both are equal. */
export interface CacheKey {
  /** Sharers: the name of the scope, and its id. */
  scope: string;
  digest: string;
}

/** With its parts by name, which say where two requests differ. */
export interface PartedKey extends CacheKey {
  parts: Readonly<Record<string, string>>;
}

/** Facts that change the answer to a request in addition to its canonical form. */
export interface KeyFacts {
  alias: Alias;
  rule: AliasCache;
  providers: ReadonlyMap<string, ConfiguredProvider>;
  /** Targets of the plan, which are not the alias's alone where the request names fallbacks. */
  targets: readonly RouteCandidate[];
  /** The targets that steps chose. */
  chosen?: readonly string[] | undefined;
  call: Pick<ModelCall, 'principal' | 'preferences' | 'callerHeaders' | 'gate'>;
  /** Name in the ledger. */
  endpoint: string;
  form: CachedForm;
  facts: Pick<RequestFacts, 'stream'> & { includeUsage?: boolean };
}

/** Counts up when the same key would mean another answer. */
const keyVersion = 4;

export function cacheKeyOf(facts: KeyFacts, { fields: { model, ...fields } }: Canonical): PartedKey {
  const { alias, rule, providers, targets, call, endpoint, form } = facts;
  const { principal, preferences, callerHeaders, gate } = call;
  const parts = {
    ...fields,
    ' configuration of the model': fingerprintOf(alias, providers),
    ...(fields.fallbacks !== undefined && { ' fallbacks': digestOf([targets, reachedBy(targets, providers)]) }),
    ...(facts.chosen !== undefined && { ' targets': JSON.stringify(facts.chosen) }),
    // Every format writes the same events, whole or as a stream.
    ...(form === 'bytes' && { ' form': `${endpoint} ${facts.facts.stream} ${facts.facts.includeUsage ?? false}` }),
    // A key without a guard that repairs answers does not share them.
    ...(gate?.repaired !== undefined && { ' repaired': 'true' }),
    ' x-culvert-no-fallback': preferences.fallback,
    ' anthropic-beta': String(callerHeaders['anthropic-beta'] ?? ''),
  };
  // The name that the caller wrote may be a pattern's or one that nobody has: the alias answers.
  const digest = digestOf([keyVersion, form, alias.id, sortedEntries(parts)]);
  return { scope: scopeOf(rule.scope, principal), digest, parts };
}

/** The same for work of this name, which no model does. */
export function workKeyOf(
  name: string,
  { rule, configuration }: { rule: Pick<AliasCache, 'scope'>; configuration: unknown },
  principal: Principal,
  { fields }: Canonical,
): CacheKey {
  const digest = digestOf([keyVersion, ' work', name, configuration, sortedEntries(fields)]);
  return { scope: scopeOf(rule.scope, principal), digest };
}

function sortedEntries(parts: Readonly<Record<string, string | undefined>>): unknown[] {
  return sortedNames(parts).map((name) => [name, parts[name]]);
}

/** The place of questions that may be similar: all of a request but its last turn. Null: it has no such place. */
export function filterOf(
  facts: KeyFacts,
  { question, ...canonical }: Canonical,
  embeddings: Alias | Failure,
): CacheKey | null {
  if (question === undefined || isFailure(embeddings)) return null;
  const messages = digestOf([question.before, embeddings.id, fingerprintOf(embeddings, facts.providers)]);
  return cacheKeyOf(facts, { ...canonical, fields: { ...canonical.fields, messages } });
}

/** A space is in no id: no scope can be written as another one. */
function scopeOf(scope: AliasCache['scope'], { keyId, account, plan }: Principal): string {
  if (scope === 'all') return scope;
  const id = { key: keyId, account, plan }[scope];
  return `${scope} ${id}`;
}

const fingerprints = new WeakMap<Alias, string>();

/** Digest of all that the configuration says of a model: its targets with prices and options, and how their providers are reached. */
function fingerprintOf(alias: Alias, providers: KeyFacts['providers']): string {
  const known = fingerprints.get(alias);
  if (known !== undefined) return known;
  const { createdS, only, cache, ...configuration } = alias;
  const made = digestOf({ own: configuration, reached: reachedBy(alias.candidates, providers) });
  fingerprints.set(alias, made);
  return made;
}

/** How the providers of these targets are reached, without what proves who asks. */
function reachedBy(targets: readonly RouteCandidate[], providers: KeyFacts['providers']): unknown[] {
  const names = [...new Set(targets.map(({ target }) => target.provider))].sort();
  return names.map((name) => {
    const { api_key, credentials, ...config } = providers.get(name)?.config ?? { api_key: null, credentials: null };
    return [name, config];
  });
}

function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url');
}
