import { isObject, type JsonObject, objectIn, objectsIn, parsedJson } from '../../kernel/json.ts';
import {
  type ForeignSource,
  nothingToImport,
  type Place,
  readShapes,
  readSources,
  type Shape,
} from './foreign-sources.ts';
import { type FieldTable, noteLeftOut, noteUnknown, readFields } from './import-fields.ts';
import type { ImportResult } from './imported.ts';
import { attemptsDefault, attemptsMax, importModels } from './imported-models.ts';
import { importProviders } from './imported-providers.ts';
import { type Deployment, isModelName, nameRule } from './litellm-deployment.ts';
import { modelFactsOf } from './litellm-model-info.ts';
import type { Settings } from './litellm-settings.ts';
import { listOfTexts } from './plain-values.ts';
import { type Config, fields, placeFields, withSnakeCase } from './portkey-fields.ts';
import { type Key, providerOf } from './portkey-provider.ts';
import { branchesOf, type Leaf, leavesOf } from './portkey-strategy.ts';

interface Found {
  configs: Config[];
  /** By slug. */
  keys: Map<string, Key>;
}

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

const keyFields: FieldTable = { usage_limits: 'a budget belongs to a plan here: plans.NAME.budget' };

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
      const { leaves } = leavesOf({ ...branch, priority: 1, weight: 1 });
      const targets = leaves.flatMap((leaf) => deploymentOf(leaf, found.keys) ?? []);
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
      const retries = [branch, config, ...leaves].map(({ fields: { retry } }) => objectIn(retry).attempts);
      const triesMax = Math.max(targets.length, ...retries.map((count) => (typeof count === 'number' ? count + 1 : 0)));
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

/** The provider whose key it is. */
function ownerOf({ ai_provider_name: name, ai_provider_id: id, ai_provider: provider }: JsonObject): string | null {
  return listOfTexts([name, id, provider])[0]?.toLowerCase() ?? null;
}

function readKey(key: JsonObject, { path, values }: Place, { keys }: Found): void {
  noteLeftOut(key, keyFields, path, values.notes);
  const limits = objectsIn(key.rate_limits);
  const ofRequests = limits.find(({ type, unit }) => type === 'requests' && unit === 'rpm');
  const rpm = ofRequests?.value;
  for (const limit of limits) {
    if (limit === ofRequests) continue;
    values.notes.add([...path, 'rate_limits'], 'not carried over: a credential is limited only by requests per minute');
  }
  keys.set(String(key.slug), {
    provider: ownerOf(key),
    settings: withSnakeCase(objectIn(key.model_config)),
    rpm: typeof rpm === 'number' && rpm >= 1 ? Math.min(1e9, Math.round(rpm)) : null,
  });
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
  noteUnknown(config, fields, placeFields, path, values.notes);
  const { timeouts = {}, body = {} } = readFields(config, fields, path, values);
  return {
    alias: '',
    path,
    provider: found.provider,
    model: found.model,
    share: { by: 'weight', amount: weight },
    order: priority,
    rpm: null,
    timeouts: timeouts as Deployment['timeouts'],
    body: body as JsonObject,
    facts: modelFactsOf(values, {}, {}, found.model, path),
    baseModel: null,
  };
}
