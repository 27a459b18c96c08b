import type { ProviderConfig } from '../../config/schema.ts';
import { catalog } from '../../formats/providers/catalog.ts';
import { isObject, type JsonObject, parsedJson } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { type FieldTable, filled, noteLeftOut, type Reader, readFields } from './field-table.ts';
import {
  type ForeignSource,
  nothingToImport,
  type Place,
  readShapes,
  readSources,
  type Shape,
} from './foreign-sources.ts';
import type { ImportResult } from './imported.ts';
import { importModels } from './imported-models.ts';
import { importProviders } from './imported-providers.ts';
import { placeInCloud } from './litellm-clouds.ts';
import { baseUrlOf, bodyOf, type Deployment, isModelName, nameRule, type ProviderFacts } from './litellm-deployment.ts';
import { modelFactsOf } from './litellm-model-info.ts';
import type { Settings } from './litellm-settings.ts';
import type { Path } from './notes.ts';
import { listOfTexts, objectOf, plain, reference, secondsOf, textIn, textOf } from './plain-values.ts';

/** A config of Portkey's, or a target in one. Its name is that of a model of ours. */
interface Config extends Place {
  fields: JsonObject;
}

/** A target that names a provider, and when it is asked. */
interface Leaf extends Config {
  priority: number;
  weight: number;
}

/** A virtual key, or a provider of the model catalog: whose key it is, and what surrounds it. */
interface Key {
  provider: string | null;
  settings: JsonObject;
  /** Requests a minute. */
  rpm: number | null;
}

interface Found {
  configs: Config[];
  /** By slug. */
  keys: Map<string, Key>;
}

const timeoutsOf: Reader = (ms, path, values) => {
  const total = typeof ms === 'number' ? secondsOf(values, ms / 1_000, path) : null;
  return total === null ? null : { total };
};

const bodyOfRequests: Reader = (params, path, values) => {
  const { model: _, ...body } = objectOf(params);
  return bodyOf(values, body, path);
};

/** Shapes in which the API and people have configs and virtual keys. */
const shapes: readonly Shape<Found>[] = [
  // GET /v1/configs/{slug}
  [({ config }) => config !== undefined, readNamedConfig],
  // GET /v1/virtual-keys, GET /v1/providers
  [(one) => typeof one.slug === 'string' && (ownerOf(one) !== null || one.object === 'virtual-key'), readKey],
  // A config as the gateway takes it
  [
    (one) => ['strategy', 'targets', 'virtual_key', 'virtualKey', 'provider'].some((name) => one[name] !== undefined),
    addConfig,
  ],
];

const guards = 'guards of a model, a plan or server check texts (docs/guards.md)';
const builtIn: FieldTable = { on_status_codes: 'which failures count is built in' };

/** Fields of configs and targets; `leavesOf` reads their strategies, and `providerOf` whom they ask. */
const fields: FieldTable = {
  request_timeout: ['timeouts', timeoutsOf],
  override_params: ['body', bodyOfRequests],
  strategy: builtIn,
  retry: builtIn,
  cache: 'models.NAME.cache caches answers (docs/caching.md)',
  input_guardrails: guards,
  output_guardrails: guards,
  default_input_guardrails: guards,
  default_output_guardrails: guards,
  before_request_hooks: guards,
  after_request_hooks: guards,
  forward_headers: 'providers get only the headers of the configuration',
  metadata: 'callers send x-culvert-tag',
  model_pricing_config: 'write price into the target',
};

/** Settings that targets have of what surrounds them. */
const inherited = ['request_timeout', 'custom_host', 'provider', 'virtual_key', 'api_key', 'override_params'];

const keyFields: FieldTable = { usage_limits: 'a budget belongs to a plan here: plans.NAME.budget' };

/** Portkey's names of providers that are other than ours; https://portkey.ai/docs/integrations/llms. */
const types: Readonly<Record<string, ProviderConfig['type']>> = {
  google: 'gemini',
  'vertex-ai': 'vertex',
  'azure-ai': 'azure-openai',
  'azure-ai-inference': 'azure-openai',
  'mistral-ai': 'mistral',
  'together-ai': 'together',
  'fireworks-ai': 'fireworks',
  'perplexity-ai': 'perplexity',
  'novita-ai': 'novita',
  'x-ai': 'xai',
  'stability-ai': 'stability',
  'recraft-ai': 'recraft',
  'featherless-ai': 'featherless',
  'inference-net': 'openai',
  'workers-ai': 'cloudflare',
  zhipu: 'zai',
};

const clouds: Readonly<Record<string, 'aws' | 'google' | 'azure'>> = {
  bedrock: 'aws',
  vertex: 'google',
  'azure-openai': 'azure',
};

/** Portkey's names of what a cloud wants, by LiteLLM's, which `placeInCloud` reads. */
const cloudMembers: Readonly<Record<string, string>> = {
  aws_region: 'aws_region_name',
  aws_role_arn: 'aws_role_name',
  vertex_project_id: 'vertex_project',
  vertex_region: 'vertex_location',
  vertex_service_account_json: 'vertex_credentials',
  azure_entra_tenant_id: 'tenant_id',
  azure_entra_client_id: 'client_id',
  azure_entra_client_secret: 'client_secret',
  azure_entra_scope: 'azure_scope',
};

/** The schema's own. */
const attemptsMax = 8;
const attemptsDefault = 4;
/** Weights below it are as good as none. */
const weightMin = 1e-6;

/**
 * Converts configs of Portkey's (https://portkey.ai/docs/product/ai-gateway/configs): the `shapes`. A config becomes a
 * model that callers name, and a virtual key a provider.
 */
export function importPortkey(sources: readonly ForeignSource[]): ImportResult {
  const read = readSources(sources);
  if (!read.ok) return read;
  const found: Found = { configs: [], keys: new Map() };
  readShapes(read.files, shapes, found);
  const deployments: Deployment[] = [];
  const attempts = new Map<string, number>();
  for (const config of found.configs) {
    for (const branch of branchesOf(config)) {
      const targets = leavesOf({ ...branch, priority: 1, weight: 1 }).leaves.flatMap(
        (leaf) => deploymentOf(leaf, found.keys) ?? [],
      );
      const { notes } = branch.values;
      const alias = aliasOf(branch, targets, attempts);
      if (!isModelName(alias)) {
        notes.add(branch.path, `the model ${alias} is not carried over: ${nameRule}`);
        continue;
      }
      if (alias.replace(/\/\*$/, '') !== branch.name) {
        notes.add(branch.path, `its model is ${alias}, because another one has its name`);
      }
      deployments.push(...targets.map((target) => ({ ...target, alias })));
      const retries = objectOf(branch.fields.retry ?? config.fields.retry).attempts;
      const triesMax = typeof retries === 'number' ? Math.max(retries + 1, targets.length) : targets.length;
      attempts.set(alias, Math.min(attemptsMax, Math.max(1, Math.round(triesMax))));
    }
  }
  const [first] = found.configs;
  if (first === undefined) return nothingToImport('holds no config of Portkey', read.notes());
  if (deployments.length === 0) return nothingToImport('none of its targets could be carried over', read.notes());
  const { notes } = first.values;
  const { providers, nameOf } = importProviders(deployments, noSettings, notes);
  const models = importModels(deployments, noSettings, nameOf, notes);
  for (const [alias, model] of Object.entries(models)) {
    const tries = attempts.get(alias) ?? 1;
    if (tries > 1 && tries !== attemptsDefault) model.attempts = tries;
  }
  return { ok: true, imported: { config: { providers, models }, variables: read.variables, notes: read.notes() } };
}

const noSettings: Settings = { attempts: null, timeouts: {}, fallbacks: [], aliases: [], adminKey: null };

function readNamedConfig(value: JsonObject, place: Place, found: Found): void {
  const at = { ...place, path: [...place.path, 'config'], name: nameOf(value, place) };
  const config = typeof value.config === 'string' ? parsedJson(value.config) : value.config;
  if (isObject(config)) found.configs.push({ ...at, fields: withSnakeCase(config) });
  else at.values.notes.add(at.path, 'not carried over: it is not a config');
}

function addConfig(config: JsonObject, place: Place, found: Found): void {
  found.configs.push({ ...place, name: nameOf(config, place), fields: withSnakeCase(config) });
}

function nameOf({ slug, name, id }: JsonObject, place: Place): string {
  return listOfTexts([slug, name, id])[0] ?? place.name;
}

/** Portkey takes `overrideParams` and `override_params`. */
function withSnakeCase(config: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );
}

/** The provider whose key it is. */
function ownerOf({ ai_provider_name: name, ai_provider_id: id, ai_provider: provider }: JsonObject): string | null {
  return listOfTexts([name, id, provider])[0]?.toLowerCase() ?? null;
}

function readKey(key: JsonObject, { path, values }: Place, { keys }: Found): void {
  noteLeftOut(key, keyFields, path, values.notes);
  const limits = Array.isArray(key.rate_limits) ? key.rate_limits.filter(isObject) : [];
  const rpm = limits.find(({ type, unit }) => type === 'requests' && unit === 'rpm')?.value;
  for (const limit of limits) {
    if (limit.value === rpm) continue;
    values.notes.add([...path, 'rate_limits'], 'not carried over: a credential is limited only by requests per minute');
  }
  keys.set(String(key.slug), {
    provider: ownerOf(key),
    settings: withSnakeCase(objectOf(key.model_config)),
    rpm: typeof rpm === 'number' && rpm >= 1 ? Math.min(1e9, Math.round(rpm)) : null,
  });
}

/**
 * The models that a config becomes. A conditional one has several: one for each model that a condition names, and for
 * each target whose condition Culvert cannot decide, which callers then name themselves.
 */
function branchesOf(config: Config): Config[] {
  const { fields: of, path, name, values } = config;
  const strategy = objectOf(of.strategy);
  if (strategy.mode !== 'conditional') return [config];
  noteLeftOut(of, fields, path, values.notes);
  // The first of a name counts.
  const targets = new Map(
    targetsOf(config)
      .toReversed()
      .map((target) => [target.fields.name, target]),
  );
  const branches: Config[] = [];
  const undecided = new Set<unknown>();
  for (const [index, condition] of (Array.isArray(strategy.conditions) ? strategy.conditions : []).entries()) {
    const at = [...path, 'strategy', 'conditions', index];
    const { query, then } = objectOf(condition);
    const target = targets.get(then);
    const models = modelsOfQuery(query);
    if (target === undefined) values.notes.add(at, `not carried over: there is no target ${String(then)}`);
    else if (models !== null) branches.push(...models.map((model) => ({ ...target, name: model })));
    else if (!undecided.has(then)) {
      undecided.add(then);
      const alias = `${name}/${String(then)}`;
      values.notes.add(at, `Culvert has no such condition: callers choose the model ${alias} themselves`);
      branches.push({ ...target, name: alias });
    }
  }
  const otherwise = targets.get(strategy.default);
  return otherwise === undefined ? branches : [...branches, { ...otherwise, name }];
}

/** Names of the models that it asks for, with a `*` behind a beginning; null where it asks for anything else. */
function modelsOfQuery(query: unknown): string[] | null {
  const [[member, condition] = [], second] = Object.entries(objectOf(query));
  if (second !== undefined) return null;
  if (member === '$or' && Array.isArray(condition)) {
    const all = condition.map(modelsOfQuery);
    return all.includes(null) ? null : all.flatMap((one) => one ?? []);
  }
  if (member !== 'params.model') return null;
  if (typeof condition === 'string') return [condition];
  const [[operator, value] = [], another] = Object.entries(objectOf(condition));
  if (another !== undefined) return null;
  if (operator === '$eq' && typeof value === 'string') return [value];
  if (operator === '$in' && Array.isArray(value)) return listOfTexts(value);
  const beginning = operator === '$regex' ? /^\^([\w./:-]+)(\.\*\$?)?$/.exec(String(value))?.[1] : undefined;
  return beginning === undefined ? null : [`${beginning}*`];
}

/**
 * Targets in the order of a strategy: of `fallback` one priority after the other, of `loadbalance` one priority with
 * weights, also inside each other. What surrounds a target holds for it where it says nothing itself.
 */
function leavesOf(at: Leaf): { leaves: Leaf[]; next: number } {
  const { path, priority, weight } = at;
  const { notes } = at.values;
  const { mode, default: otherwise } = objectOf(at.fields.strategy);
  const targets = targetsOf(at);
  if (targets.length === 0) return { leaves: [at], next: priority + 1 };
  noteLeftOut(at.fields, fields, path, notes);
  const leaves: Leaf[] = [];
  let next = priority;
  if (mode === 'loadbalance') {
    const shares = targets.map(({ fields: { weight } }) => (typeof weight === 'number' && weight >= 0 ? weight : 1));
    const sum = shares.reduce((all, share) => all + share, 0);
    for (const [index, target] of targets.entries()) {
      const share = shares[index] ?? 0;
      if (share === 0) {
        notes.add(target.path, 'this target is not carried over: its weight is 0');
        continue;
      }
      const inner = leavesOf({ ...target, priority, weight: Math.max(weightMin, (weight * share) / sum) });
      leaves.push(...inner.leaves);
      if (inner.next > priority + 1) {
        notes.add(target.path, 'its fallbacks come after all targets of the load balancer, not after this one');
      }
      next = Math.max(next, inner.next);
    }
    return { leaves, next };
  }
  if (mode === 'conditional') {
    notes.add([...path, 'strategy'], 'a condition inside another strategy is not carried over: its default is taken');
  }
  const taken = mode === 'conditional' ? targets.filter(({ fields: { name } }) => name === otherwise) : targets;
  for (const target of mode === undefined || mode === 'single' ? taken.slice(0, 1) : taken) {
    const inner = leavesOf({ ...target, priority: next, weight });
    leaves.push(...inner.leaves);
    next = inner.next;
  }
  return { leaves, next };
}

function targetsOf(config: Config): Config[] {
  const from = Object.fromEntries(Object.entries(config.fields).filter(([name]) => inherited.includes(name)));
  return (Array.isArray(config.fields.targets) ? config.fields.targets : []).flatMap((target, index) =>
    isObject(target)
      ? [{ ...config, fields: { ...from, ...withSnakeCase(target) }, path: [...config.path, 'targets', index] }]
      : [],
  );
}

/** `name/*` where a target leaves the model to its callers. */
function aliasOf({ name }: Config, targets: readonly Deployment[], taken: ReadonlyMap<string, number>): string {
  const free = targets.some(({ model }) => model.includes('*')) && !name.includes('*') ? `${name}/*` : name;
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? free : `${free}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function deploymentOf(leaf: Leaf, keys: ReadonlyMap<string, Key>): Deployment | null {
  const { fields: config, path, values, weight, priority } = leaf;
  const found = providerOf(leaf, keys);
  if (found === null) return null;
  const { timeouts = {}, body = {} } = readFields(config, fields, path, values);
  return {
    alias: '',
    path,
    provider: found.provider,
    model: found.model,
    share: { by: 'weight', amount: weight },
    priority: Math.min(100, priority),
    rpm: null,
    timeouts: timeouts as Deployment['timeouts'],
    body: body as JsonObject,
    facts: modelFactsOf(values, {}, {}, found.model, path),
    baseModel: null,
  };
}

/** Provider of a target, and its model, `*` for the caller's; null, with a note, where there is no way to it. */
function providerOf(leaf: Leaf, keys: ReadonlyMap<string, Key>): { provider: ProviderFacts; model: string } | null {
  const { fields: config, path, values } = leaf;
  const drop = (why: string, at: Path = path) => {
    values.notes.add(at, `this target is not carried over: ${why}`);
    return null;
  };
  const named = textIn(objectOf(config.override_params).model);
  // `@slug/model` of the model catalog.
  const [, ofModel = null, bare = named] = /^@([^/]+)\/(.+)$/.exec(named ?? '') ?? [];
  const given = textIn(config.provider);
  const ofProvider = given?.startsWith('@') ? given.slice(1) : null;
  const provider = ofProvider === null ? (given?.toLowerCase() ?? null) : null;
  const slug = textIn(config.virtual_key) ?? ofProvider ?? ofModel;
  const key = slug === null ? undefined : keys.get(slug);
  const unlisted = slug !== null && key === undefined;
  const name = provider ?? key?.provider ?? (unlisted ? guessed(slug, leaf) : null);
  if (name === null) {
    return drop(`nothing says whose ${slug ?? 'key it'} is; give the answer of GET /v1/virtual-keys as a file, too`);
  }
  const service = catalog.find(({ id }) => id === (directMember(types, name) ?? name));
  if (service === undefined) return drop(`there is no provider for ${name}`, [...path, 'provider']);
  const type = service.id;
  const settings: JsonObject = filled({ ...key?.settings, ...config });
  for (const [theirs, other] of Object.entries(cloudMembers)) settings[other] ??= settings[theirs];
  const cloud = directMember(clouds, type);
  const place = placeInCloud(values, cloud, settings, path, null);
  const model = (cloud === 'azure' ? textIn(settings.deployment_id) : null) ?? bare;
  if (model !== null && (!isModelName(model) || model.includes('*'))) return drop('its model has no name');
  const resource = cloud === 'azure' ? textIn(settings.resource_name) : null;
  const host = textIn(settings.custom_host) ?? textIn(settings.azure_foundry_url);
  const address = host ?? (resource === null ? null : `https://${resource}.openai.azure.com/`);
  const baseUrl = baseUrlOf(values, address, [...path, 'custom_host']);
  if (service.baseUrl === null && cloud !== 'aws' && baseUrl === null) {
    return drop(`${name} needs an address, as custom_host or resource_name`);
  }
  const version = cloud === 'azure' ? textIn(settings.api_version) : null;
  // Portkey does not give the secrets of virtual keys away.
  const variable = slug === null ? service.envKey : `${variableName(slug)}_API_KEY`;
  const apiKey = () =>
    textOf(values, config.api_key, [...path, 'api_key'], 'secret', service.envKey ?? '') ??
    (variable === null ? null : reference(values, variable, 'secret'));
  return {
    model: model === null ? '*' : plain(model),
    provider: {
      service: slug ?? name,
      type,
      baseUrl,
      apiVersion: version !== null && /^[A-Za-z0-9.-]{1,40}$/.test(version) ? version : null,
      key: place.keyless ? null : apiKey(),
      ...(key?.rpm != null && { rpm: key.rpm }),
      place: place.members,
      headers: {},
    },
  };
}

/** The slug of a virtual key often begins with its provider. */
function guessed(slug: string, { path, values }: Place): string | null {
  const known = [...Object.keys(types), ...catalog.map(({ id }) => id)].toSorted((a, b) => b.length - a.length);
  const provider = known.find((name) => slug.toLowerCase().startsWith(name)) ?? null;
  if (provider !== null) values.notes.add(path, `the key ${slug} is taken to be of ${provider}, by its name`);
  return provider;
}

function variableName(slug: string): string {
  const name = slug
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
  return /^\d/.test(name) ? `KEY_${name}` : name.slice(0, 150);
}
