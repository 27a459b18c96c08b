import { isObject, type JsonObject, objectIn } from '../../kernel/json.ts';
import {
  type ForeignSource,
  nothingToImport,
  type Place,
  readShapes,
  readSources,
  type Shape,
} from './foreign-sources.ts';
import { type FieldTable, noteLeftOut, noteUnknown, type Reader, readFields } from './import-fields.ts';
import type { ImportResult } from './imported.ts';
import { bodyOf, isModelName, nameRule } from './litellm-deployment.ts';
import { budgetOf } from './litellm-limits.ts';
import { typeByName } from './litellm-model-info.ts';
import { isWritable, listOfTexts, plain, reference, textOr } from './plain-values.ts';
import { uniqueName } from './unique-name.ts';

/** Models and keys of the files, as ours. */
interface Found {
  /** By the name that callers send. */
  models: Map<string, JsonObject>;
  /** Headers of the provider. */
  headers: Record<string, string>;
  /** By the hash of their secret. */
  keys: Map<string, JsonObject>;
  /** By the slug that a model has for ever, the name by which callers ask for it. */
  names: ReadonlyMap<string, string>;
  /** Models of the CSV, which has a row for each request. */
  rows: Set<string>;
  nowMs: number;
}

const texts =
  (...names: readonly string[]) =>
  (object: JsonObject) =>
    names.every((name) => typeof object[name] === 'string');

const shapes: readonly Shape<Found>[] = [
  // GET /api/v1/presets/{slug}
  [(object) => texts('slug')(object) && isObject(object.designated_version), readPreset],
  // https://opencode.ai/docs/providers
  [({ provider }) => isObject(objectIn(provider).openrouter), readOpencode],
  // GET /api/v1/activity
  [texts('model_permaslug', 'model'), ({ model }, place, found) => addModel([String(model)], {}, place, found)],
  // The CSV of the Activity page
  [texts('model_permaslug'), readRow],
  // GET /api/v1/keys
  [(object) => texts('hash')(object) && object.label !== undefined && object.limit !== undefined, readKey],
  // https://docs.continue.dev/reference: an entry of `models`
  [texts('provider', 'model'), readContinue],
  // A body of a request
  [
    ({ model, models }) => typeof model === 'string' || (Array.isArray(models) && listOfTexts(models).length > 0),
    readBody,
  ],
  // GET /api/v1/presets
  [texts('slug', 'designated_version_id'), readPresetName],
  // GET /api/v1/models, which `namesBySlug` has read
  [texts('id', 'canonical_slug'), () => undefined],
];

/** A field that OpenRouter alone knows: the target sends it with every request. */
const sent: Reader = (value) => value;
const replacing = '`body` of a target would replace what callers say';

const fields: FieldTable = {
  provider: ['provider', sent],
  plugins: ['plugins', sent],
  transforms: ['transforms', sent],
  reasoning: ['reasoning', sent],
  service_tier: ['service_tier', sent],
  temperature: replacing,
  top_p: replacing,
  top_k: replacing,
  max_tokens: replacing,
  seed: replacing,
  stop: replacing,
  frequency_penalty: replacing,
  presence_penalty: replacing,
};

/** Names of what callers send themselves, and of what is read elsewhere. */
const callers = /^(models?|messages|prompt|system_prompt|tools|tool_choice|stream|stream_options|user|extra_body)$/;

const keyFields: FieldTable = { apiKey: 'OPENROUTER_API_KEY takes its place' };

/** Parts of a preset that a model of ours does not have, so that OpenRouter goes on adding them. */
const presetOnly = ['system_prompt', 'tools', 'messages'];

/** The schema's own. */
const prioritiesMax = 100;

/**
 * Converts what OpenRouter tells of an account and what clients have written down about it: the `shapes`. Models stay at
 * OpenRouter, which becomes a provider, and callers keep their names and keys.
 */
export function importOpenRouter(sources: readonly ForeignSource[], nowMs = Date.now()): ImportResult {
  const read = readSources(sources);
  if (!read.ok) return read;
  const { files, variables } = read;
  const names = new Map<string, string>();
  readShapes(files, namesBySlug, names);
  const found: Found = { models: new Map(), headers: {}, keys: new Map(), names, rows: new Set(), nowMs };
  readShapes(files, shapes, found);
  const { models, headers, keys } = found;
  const notes = read.notes();
  if (models.size + keys.size === 0) return nothingToImport('names no model or key of OpenRouter', notes);
  const key = reference({ variables }, 'OPENROUTER_API_KEY', 'secret');
  const openrouter = { type: 'openrouter', api_key: key, ...(Object.keys(headers).length > 0 && { headers }) };
  const config = {
    providers: { openrouter },
    models: Object.fromEntries(models),
    ...(keys.size > 0 && { accounts: { openrouter: {} }, keys: [...keys.values()] }),
  };
  return { ok: true, imported: { config, variables, notes } };
}

/** A variant has the slug of its model. */
const namesBySlug: readonly Shape<Map<string, string>>[] = [
  [
    texts('id', 'canonical_slug'),
    ({ id, canonical_slug: slug }, _, names) => names.set(String(slug), String(id).replace(/:[\w-]+$/, '')),
  ],
];

/** The CSV tells the slug of the model that was asked, and its variant. */
function readRow(row: JsonObject, place: Place, found: Found): void {
  const slug = String(row.model_permaslug);
  const variant = textOr(row.variant, 'standard');
  const alias = `${found.names.get(slug) ?? slug}${variant === 'standard' || slug.includes(':') ? '' : `:${variant}`}`;
  if (slug === '' || found.rows.has(alias)) return;
  found.rows.add(alias);
  if (!found.names.has(slug)) {
    const fix = 'give the answer of GET /api/v1/models as a file, too, which has the name that callers send';
    const message = `${slug} is the permanent name of this model at OpenRouter; ${fix}`;
    place.values.notes.add([...place.path, 'model_permaslug'], message);
  }
  addModel([alias], {}, place, found);
}

/** A preset without a prompt becomes a model; one with a prompt or tools stays at OpenRouter, which adds them. */
function readPreset(preset: JsonObject, place: Place, found: Found): void {
  const alias = `@preset/${String(preset.slug)}`;
  const version = objectIn(preset.designated_version);
  const config = objectIn(version.config);
  const models = modelsOf(config);
  const at = { ...place, path: [...place.path, 'designated_version'] };
  const only = presetOnly.filter((name) => !['', null, undefined].includes((version[name] ?? config[name]) as string));
  if (only.length === 0 && models.length > 0) {
    return addModel(models, config, { ...at, path: [...at.path, 'config'] }, found, alias);
  }
  const why =
    only.length > 0 ? `it has ${only.join(' and ')}, which models of Culvert do not have` : 'it names no model';
  at.values.notes.add(at.path, `the preset stays at OpenRouter, which Culvert asks for ${alias}: ${why}`);
  addModel([alias], {}, place, found);
}

function readPresetName({ slug }: JsonObject, place: Place, found: Found): void {
  const fix = `give the answer of GET /api/v1/presets/${String(slug)} as a file, too`;
  place.values.notes.add(place.path, `this list has only the names of presets; ${fix}`);
  addModel([`@preset/${String(slug)}`], {}, place, found);
}

function readOpencode(file: JsonObject, place: Place, found: Found): void {
  const { models, options } = objectIn(objectIn(file.provider).openrouter);
  const path = [...place.path, 'provider', 'openrouter'];
  readClient(objectIn(options), { ...place, path: [...path, 'options'] }, found);
  for (const [alias, model] of Object.entries(objectIn(models))) {
    const { id, options: body } = objectIn(model);
    addModel(
      [textOr(id, alias)],
      objectIn(body),
      { ...place, path: [...path, 'models', alias, 'options'] },
      found,
      alias,
    );
  }
}

function readContinue(entry: JsonObject, place: Place, found: Found): void {
  const { path, values } = place;
  if (entry.provider !== 'openrouter') {
    return values.notes.add([...path, 'provider'], `not carried over: it is a model of ${String(entry.provider)}`);
  }
  const options = objectIn(entry.requestOptions);
  readClient({ apiKey: entry.apiKey }, place, found);
  readClient({ headers: options.headers }, { ...place, path: [...path, 'requestOptions'] }, found);
  noteLeftOut(objectIn(entry.defaultCompletionOptions), fields, [...path, 'defaultCompletionOptions'], values.notes);
  addModel([String(entry.model)], objectIn(options.extraBodyProperties), place, found);
}

function readBody(request: JsonObject, place: Place, found: Found): void {
  addModel(modelsOf(request), { ...objectIn(request.extra_body), ...request }, place, found);
}

/** Headers with the names of the application, which OpenRouter shows. */
function readClient(options: JsonObject, { path, values }: Place, { headers }: Found): void {
  noteLeftOut(options, keyFields, path, values.notes);
  for (const [name, value] of Object.entries(objectIn(options.headers))) {
    const fits = typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value) && isWritable(value);
    if (/^(http-referer|x-title|x-openrouter-[\w-]+)$/i.test(name) && fits) headers[name] = plain(value);
    else values.notes.add([...path, 'headers', name], 'not carried over: Culvert sends no such header');
  }
}

/** `model` first, then those of `models`, each once. */
function modelsOf(request: JsonObject): string[] {
  return [...new Set([...listOfTexts(request.model), ...listOfTexts(request.models)])];
}

/** A model with a target for each of `ids` at OpenRouter, tried in this order. `request`: fields of its requests. */
function addModel(ids: readonly string[], request: JsonObject, place: Place, found: Found, alias = ids[0] ?? ''): void {
  const { path, values } = place;
  if (!isModelName(alias) || alias.includes('*')) {
    return values.notes.add(path, `the model ${alias} is not carried over: ${nameRule}, and here none`);
  }
  const fitting = ids.filter((id) => isModelName(id) && !id.includes('*')).slice(0, prioritiesMax);
  if (fitting.length < ids.length) values.notes.add(path, `some targets of ${alias} are not carried over: ${nameRule}`);
  if (fitting.length === 0) return;
  noteUnknown(request, fields, callers, path, values.notes);
  const body = bodyOf(values, readFields(request, fields, path, values), path);
  const hasBody = Object.keys(body).length > 0;
  const targets = fitting.map((id, index) =>
    index === 0 && !hasBody
      ? `openrouter/${plain(id)}`
      : {
          provider: 'openrouter',
          model: plain(id),
          ...(index > 0 && { priority: index + 1 }),
          ...(hasBody && { body }),
        },
  );
  const type = typeByName(alias) ?? 'chat';
  const model = { ...(type !== 'chat' && { type }), targets };
  const known = found.models.get(alias);
  if (known === undefined || isBare(known)) found.models.set(alias, model);
  else if (!isBare(model) && JSON.stringify(known) !== JSON.stringify(model)) {
    values.notes.add(path, `the preferences for ${alias} are not carried over: it has others already`);
  }
}

/** One target by its name alone: what activity tells. */
function isBare({ targets }: JsonObject): boolean {
  return Array.isArray(targets) && targets.length === 1 && typeof targets[0] === 'string';
}

/** A key by the SHA-256 that OpenRouter tells of it, so that its callers go on with it, and with what it may spend. */
function readKey(key: JsonObject, { path, values: { notes } }: Place, { keys, nowMs }: Found): void {
  const { hash, name, label, disabled, expires_at: expires, limit, limit_reset: reset } = key;
  const called = textOr(name, textOr(label, 'key'));
  const sha256 = String(hash);
  const endMs = typeof expires === 'string' ? Date.parse(expires) : null;
  const why =
    disabled === true
      ? 'it is disabled'
      : !/^[0-9a-f]{64}$/.test(sha256)
        ? 'its hash is not a SHA-256, so its caller needs a new one'
        : endMs !== null && !(endMs > nowMs)
          ? 'it has expired'
          : null;
  if (why !== null) return notes.add(path, `the key ${called} is not carried over: ${why}`);
  if (keys.has(sha256)) return;
  const taken = Object.fromEntries([...keys.values()].map((other) => [String(other.name), other]));
  const duration = typeof reset === 'string' ? reset : null;
  keys.set(sha256, {
    sha256,
    account: 'openrouter',
    name: uniqueName(called, taken),
    ...(endMs !== null && { expires: new Date(endMs).toISOString() }),
    ...(typeof limit === 'number' &&
      limit >= 0 && { limits: { ...budgetOf(limit, duration, [...path, 'limit'], notes) } }),
  });
}
