import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type ForeignSource, readSources } from './foreign-sources.ts';
import type { ImportResult } from './imported.ts';
import { importModels } from './imported-models.ts';
import { importProviders } from './imported-providers.ts';
import { bodyOf, type Deployment, isModelName, nameRule } from './litellm-deployment.ts';
import { modelFactsOf } from './litellm-model-info.ts';
import type { Settings } from './litellm-settings.ts';
import { Notes, type Path } from './notes.ts';
import { objectOf, secondsOf, type Values } from './plain-values.ts';
import { type PortkeyKey, portkeyProvider, readPortkeyKey } from './portkey-provider.ts';
import { type Branch, branchesOf, type Leaf, leavesOf, withSnakeCase } from './portkey-strategy.ts';

/** A config of Portkey's with the name that its callers send. */
interface Named {
  name: string;
  config: JsonObject;
  path: Path;
  values: Values;
}

/** The schema's own. */
const attemptsMax = 8;

/**
 * Converts configs of Portkey's (https://portkey.ai/docs/product/ai-gateway/configs): objects as its gateway takes them, or
 * the answers of its API for configs, virtual keys and providers. A config becomes a model that callers name.
 */
export function importPortkey(sources: readonly ForeignSource[]): ImportResult {
  const read = readSources(sources);
  if (!read.ok) return read;
  const variables: Values['variables'] = new Map();
  const configs: Named[] = [];
  const keys = new Map<string, PortkeyKey>();
  const all: Notes[] = [];
  for (const { name, value, lineOf } of read.files) {
    const notes = new Notes(lineOf, sources.length > 1 ? name : undefined);
    all.push(notes);
    const values: Values = { notes, variables };
    collect(value, [], name.replace(/\.\w+$/, ''), { values, configs, keys });
  }
  const notesOf = () => all.flatMap((notes) => notes.list());
  const deployments: Deployment[] = [];
  const attempts = new Map<string, number>();
  for (const named of configs) {
    for (const branch of branchesOf(named.config, named.path, named.name, named.values.notes)) {
      const targets = leavesOf(branch, named.values.notes).flatMap((leaf) => deploymentOf(leaf, named, keys) ?? []);
      const alias = aliasOf(branch, targets, attempts);
      if (!isModelName(alias)) {
        named.values.notes.add(branch.path, `the model ${alias} is not carried over: ${nameRule}`);
        continue;
      }
      if (alias.replace(/\/\*$/, '') !== branch.alias) {
        named.values.notes.add(branch.path, `its model is ${alias}, because another one has its name`);
      }
      deployments.push(...targets.map((target) => ({ ...target, alias })));
      const retries = objectOf(branch.config.retry ?? named.config.retry).attempts;
      const triesMax = typeof retries === 'number' ? Math.max(retries + 1, targets.length) : targets.length;
      attempts.set(alias, Math.min(attemptsMax, Math.max(1, Math.round(triesMax))));
    }
  }
  if (deployments.length === 0) {
    const why = configs.length === 0 ? 'holds no config of Portkey' : 'none of its targets could be carried over';
    const [first] = notesOf();
    return { ok: false, message: first === undefined ? why : `${why}; line ${first.line}: ${first.message}` };
  }
  const [notes] = all;
  const { providers, nameOf } = importProviders(deployments, noSettings, notes!);
  const models = importModels(deployments, noSettings, nameOf, notes!);
  for (const [alias, model] of Object.entries(models)) {
    const tries = attempts.get(alias) ?? 1;
    // Four are the default.
    if (tries > 1 && tries !== 4) model.attempts = tries;
  }
  return { ok: true, imported: { config: { providers, models }, variables, notes: notesOf() } };
}

const noSettings: Settings = { attempts: null, timeouts: {}, fallbacks: [], aliases: [], adminKey: null };

interface Collected {
  values: Values;
  configs: Named[];
  keys: Map<string, PortkeyKey>;
}

/** Finds configs and virtual keys in the shapes in which the API and people keep them. */
function collect(value: unknown, path: Path, name: string, into: Collected): void {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) collect(one, [...path, index], name, into);
    return;
  }
  if (!isObject(value)) return;
  const givenName = [value.slug, value.name, value.id].find((one): one is string => typeof one === 'string') ?? name;
  if (value.config !== undefined) {
    const config = typeof value.config === 'string' ? jsonOf(value.config) : value.config;
    if (isObject(config)) addConfig(config, [...path, 'config'], givenName, into);
    else into.values.notes.add([...path, 'config'], 'not carried over: it is not a config');
    return;
  }
  const key = readPortkeyKey(value, path, into.values);
  if (key !== null) {
    into.keys.set(key.slug, key);
    return;
  }
  const config = withSnakeCase(value);
  if (['strategy', 'targets', 'virtual_key', 'provider'].some((member) => config[member] !== undefined)) {
    addConfig(value, path, givenName, into);
    return;
  }
  // A list of the API, or a mapping by name.
  for (const [member, inner] of Object.entries(value)) {
    const plain = ['data', 'configs', 'virtual_keys', 'providers'].includes(member);
    if (typeof inner === 'object') collect(inner, [...path, member], plain ? name : member, into);
  }
}

function addConfig(config: JsonObject, path: Path, name: string, { values, configs }: Collected): void {
  configs.push({ name, config: withSnakeCase(config), path, values });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `name/*` where a target leaves the model to its callers. */
function aliasOf({ alias }: Branch, targets: readonly Deployment[], taken: ReadonlyMap<string, number>): string {
  const free = targets.some(({ model }) => model.includes('*')) && !alias.includes('*') ? `${alias}/*` : alias;
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? free : `${free}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function deploymentOf(leaf: Leaf, { values }: Named, keys: ReadonlyMap<string, PortkeyKey>): Deployment | null {
  const found = portkeyProvider(leaf.config, leaf.path, keys, values);
  if (found === null) return null;
  const { model: _, ...overrides } = objectOf(leaf.config.override_params);
  const ms = leaf.config.request_timeout;
  const total = typeof ms === 'number' ? secondsOf(values, ms / 1_000, [...leaf.path, 'request_timeout']) : null;
  return {
    alias: '',
    path: leaf.path,
    provider: found.provider,
    model: found.model ?? '*',
    share: { by: 'weight', amount: leaf.weight },
    priority: Math.min(100, leaf.priority),
    rpm: null,
    timeouts: total === null ? {} : { total },
    body: bodyOf(values, overrides, [...leaf.path, 'override_params']),
    facts: modelFactsOf(values, {}, {}, found.model ?? '*', leaf.path),
    baseModel: null,
  };
}
