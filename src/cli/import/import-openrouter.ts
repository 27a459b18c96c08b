import { isObject, type JsonObject } from '../../kernel/json.ts';
import { type ForeignSource, readSources } from './foreign-sources.ts';
import type { ImportResult } from './imported.ts';
import { bodyOf, isModelName, nameRule } from './litellm-deployment.ts';
import { modelFactsOf } from './litellm-model-info.ts';
import { Notes, type Path } from './notes.ts';
import { isKeyOfOpenRouter, keyOfOpenRouter } from './openrouter-keys.ts';
import { isWritable, listOfTexts, objectOf, plain, reference, textOr, type Values } from './plain-values.ts';

/** A model that callers name, and how OpenRouter is asked for it. */
interface RequestedModel {
  alias: string;
  /** Ids of OpenRouter's, tried in this order. */
  models: readonly string[];
  /** Fields of every request to it. */
  body: JsonObject;
  path: Path;
  values: Values;
}

/** Fields of requests that say how OpenRouter routes; the target keeps them, since OpenRouter alone knows them. */
const routing = ['provider', 'plugins', 'transforms', 'reasoning', 'service_tier'];

/** Fields that are defaults of a preset or a client, and what would become of them here. */
const defaults = [
  'temperature',
  'top_p',
  'top_k',
  'max_tokens',
  'seed',
  'stop',
  'frequency_penalty',
  'presence_penalty',
];

/** The schema's own. */
const prioritiesMax = 100;

/**
 * Converts what OpenRouter tells of an account and what clients have written down about it: answers of `GET
 * /api/v1/activity`, `/api/v1/keys` and `/api/v1/presets/{slug}`, the CSV of its Activity page, bodies of requests,
 * opencode's and Continue's configuration. Models stay at OpenRouter, which becomes a provider, and callers keep their
 * names and keys.
 */
export function importOpenRouter(sources: readonly ForeignSource[], nowMs = Date.now()): ImportResult {
  const read = readSources(sources);
  if (!read.ok) return read;
  const variables: Values['variables'] = new Map();
  const requestedModels: RequestedModel[] = [];
  const headers: Record<string, string> = {};
  const keys = new Map<string, JsonObject>();
  const names = namesOfSlugs(read.files.map(({ value }) => value));
  const all: Notes[] = [];
  for (const { name, value, lineOf } of read.files) {
    const notes = new Notes(lineOf, sources.length > 1 ? name : undefined);
    all.push(notes);
    collect(value, [], { values: { notes, variables }, requestedModels, headers, names, keys, nowMs });
  }
  const models: Record<string, JsonObject> = {};
  for (const one of requestedModels) {
    const { alias, path, values } = one;
    if (!isModelName(alias) || alias.includes('*')) {
      values.notes.add(path, `the model ${alias} is not carried over: ${nameRule}, and here none`);
      continue;
    }
    const model = modelOf(one);
    if (model === null) continue;
    const known = models[alias];
    if (known === undefined || isBare(known)) models[alias] = model;
    else if (!isBare(model) && JSON.stringify(known) !== JSON.stringify(model)) {
      values.notes.add(path, `the preferences for ${alias} are not carried over: it has others already`);
    }
  }
  const notes = all.flatMap((one) => one.list());
  if (Object.keys(models).length + keys.size === 0) {
    const [first] = notes;
    const why = 'names no model or key of OpenRouter';
    return { ok: false, message: first === undefined ? why : `${why}; line ${first.line}: ${first.message}` };
  }
  const key = reference({ notes: all[0]!, variables }, 'OPENROUTER_API_KEY', 'secret');
  const openrouter = { type: 'openrouter', api_key: key, ...(Object.keys(headers).length > 0 && { headers }) };
  const config = {
    providers: { openrouter },
    models,
    ...(keys.size > 0 && { accounts: { openrouter: {} }, keys: [...keys.values()] }),
  };
  return { ok: true, imported: { config, variables, notes } };
}

interface Collected {
  values: Values;
  requestedModels: RequestedModel[];
  headers: Record<string, string>;
  /** By the slug that a model keeps for ever, the name by which callers ask for it. */
  names: ReadonlyMap<string, string>;
  /** By the hash of their secret. */
  keys: Map<string, JsonObject>;
  nowMs: number;
}

/** Names by slug, from answers of `GET /api/v1/models`. A variant has the slug of its model. */
function namesOfSlugs(values: readonly unknown[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const value of values) {
    const { data } = objectOf(value);
    for (const model of Array.isArray(data) ? data : []) {
      const { id, canonical_slug: slug } = objectOf(model);
      if (typeof id === 'string' && typeof slug === 'string') names.set(slug, id.replace(/:[\w-]+$/, ''));
    }
  }
  return names;
}

function collect(value: unknown, path: Path, into: Collected): void {
  if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) collect(one, [...path, index], into);
    return;
  }
  if (!isObject(value)) return;
  if (isObject(value.designated_version) && typeof value.slug === 'string') collectPreset(value, path, into);
  else if (isObject(objectOf(value.provider).openrouter))
    collectOpencode(value, [...path, 'provider', 'openrouter'], into);
  else if (typeof value.model_permaslug === 'string' && typeof value.model === 'string') {
    into.requestedModels.push({ alias: value.model, models: [value.model], body: {}, path, values: into.values });
  } else if (typeof value.model_permaslug === 'string') collectGeneration(value, path, into);
  else if (isKeyOfOpenRouter(value)) {
    const key = keyOfOpenRouter(value, path, [...into.keys.values()], into.values.notes, into.nowMs);
    if (key !== null) into.keys.set(String(key.sha256), key);
  } else if (typeof value.provider === 'string' && typeof value.model === 'string') collectContinue(value, path, into);
  else if (typeof value.model === 'string' || (Array.isArray(value.models) && listOfTexts(value.models).length > 0)) {
    collectRequest(value, path, into);
  } else if (typeof value.slug === 'string' && typeof value.designated_version_id === 'string') {
    const address = `/api/v1/presets/${value.slug}`;
    into.values.notes.add(
      path,
      `this list has only the names of presets; give the answer of GET ${address} as a file, too`,
    );
    const alias = `@preset/${value.slug}`;
    into.requestedModels.push({ alias, models: [alias], body: {}, path, values: into.values });
  } else {
    // `data` of the API, `models` of Continue, or a mapping by name.
    for (const [member, inner] of Object.entries(value)) collect(inner, [...path, member], into);
  }
}

/** A line of the Activity page's CSV, which tells the slug of the model that was asked, and its variant. */
function collectGeneration(row: JsonObject, path: Path, { values, requestedModels, names }: Collected): void {
  const slug = String(row.model_permaslug);
  const variant = textOr(row.variant, 'standard');
  const alias = `${names.get(slug) ?? slug}${variant === 'standard' || slug.includes(':') ? '' : `:${variant}`}`;
  if (slug === '' || requestedModels.some((one) => one.alias === alias)) return;
  if (!names.has(slug)) {
    const fix = 'give the answer of GET /api/v1/models as a file, too, which has the name that callers send';
    values.notes.add([...path, 'model_permaslug'], `${slug} is the permanent name of this model at OpenRouter; ${fix}`);
  }
  requestedModels.push({ alias, models: [alias], body: {}, path, values });
}

/** A preset without a prompt becomes a model; one with a prompt or tools stays at OpenRouter, which adds them. */
function collectPreset(preset: JsonObject, path: Path, { values, requestedModels }: Collected): void {
  const alias = `@preset/${String(preset.slug)}`;
  const version = objectOf(preset.designated_version);
  const at = [...path, 'designated_version'];
  const config = objectOf(version.config);
  const models = modelsOf(config);
  const ignored = ['system_prompt', 'tools', 'messages'].filter(
    (name) => ![undefined, null, ''].includes((version[name] ?? config[name]) as string | null | undefined),
  );
  if (ignored.length > 0 || models.length === 0) {
    const why =
      ignored.length > 0 ? `it has ${ignored.join(' and ')}, which models of Culvert do not have` : 'it names no model';
    values.notes.add(at, `the preset stays at OpenRouter, which Culvert asks for ${alias}: ${why}`);
    requestedModels.push({ alias, models: [alias], body: {}, path, values });
    return;
  }
  noteDefaults(config, [...at, 'config'], values);
  requestedModels.push({ alias, models, body: routingOf(config), path, values });
}

/** https://opencode.ai/docs/providers: `provider.openrouter.models.ID.options.provider`. */
function collectOpencode(file: JsonObject, at: Path, { values, requestedModels, headers }: Collected): void {
  const { models, options } = objectOf(objectOf(file.provider).openrouter);
  takeHeaders(objectOf(objectOf(options).headers), [...at, 'options', 'headers'], values, headers);
  noteKey(objectOf(options).apiKey, [...at, 'options', 'apiKey'], values);
  for (const [id, model] of Object.entries(objectOf(models))) {
    const path = [...at, 'models', id];
    const modelOptions = objectOf(objectOf(model).options);
    noteDefaults(modelOptions, [...path, 'options'], values);
    requestedModels.push({
      alias: id,
      models: [textOr(objectOf(model).id, id)],
      body: routingOf(modelOptions),
      path,
      values,
    });
  }
}

/** https://docs.continue.dev/reference: an entry of `models`. */
function collectContinue(entry: JsonObject, path: Path, { values, requestedModels, headers }: Collected): void {
  if (entry.provider !== 'openrouter') {
    values.notes.add([...path, 'provider'], `not carried over: it is a model of ${String(entry.provider)}`);
    return;
  }
  const options = objectOf(entry.requestOptions);
  takeHeaders(objectOf(options.headers), [...path, 'requestOptions', 'headers'], values, headers);
  noteKey(entry.apiKey, [...path, 'apiKey'], values);
  noteDefaults(objectOf(entry.defaultCompletionOptions), [...path, 'defaultCompletionOptions'], values);
  const alias = String(entry.model);
  const body = routingOf(objectOf(options.extraBodyProperties));
  requestedModels.push({ alias, models: [alias], body, path, values });
}

function collectRequest(request: JsonObject, path: Path, { values, requestedModels }: Collected): void {
  const models = modelsOf(request);
  const [alias = ''] = models;
  noteDefaults(request, path, values);
  const extra = { ...objectOf(request.extra_body), ...request };
  requestedModels.push({ alias, models, body: routingOf(extra), path, values });
}

/** `model` first, then those of `models`, each once. */
function modelsOf(request: JsonObject): string[] {
  return [...new Set([...listOfTexts(request.model), ...listOfTexts(request.models)])];
}

function routingOf(request: JsonObject): JsonObject {
  return Object.fromEntries(
    routing.flatMap((name) => (request[name] === undefined || request[name] === null ? [] : [[name, request[name]]])),
  );
}

function modelOf({ alias, models, body: requestBody, path, values }: RequestedModel): JsonObject | null {
  const fitting = models.filter((id) => isModelName(id) && !id.includes('*')).slice(0, prioritiesMax);
  if (fitting.length < models.length)
    values.notes.add(path, `some targets of ${alias} are not carried over: ${nameRule}`);
  if (fitting.length === 0) return null;
  const body = bodyOf(values, requestBody, path);
  const { type } = modelFactsOf(values, {}, {}, alias, path);
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
  return { ...(type !== null && type !== 'chat' && { type }), targets };
}

/** One target by its name alone: what activity tells. */
function isBare({ targets }: JsonObject): boolean {
  return Array.isArray(targets) && targets.length === 1 && typeof targets[0] === 'string';
}

/** Names of the application, which OpenRouter shows. */
function takeHeaders(given: JsonObject, path: Path, { notes }: Values, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(given)) {
    const fits = typeof value === 'string' && /^[\t\x20-\x7e]*$/.test(value) && isWritable(value);
    if (/^(http-referer|x-title|x-openrouter-[\w-]+)$/i.test(name) && fits) headers[name] = plain(value);
    else notes.add([...path, name], 'not carried over: Culvert sends no such header');
  }
}

function noteDefaults(request: JsonObject, path: Path, { notes }: Values): void {
  for (const name of defaults) {
    if (request[name] === undefined || request[name] === null) continue;
    notes.add([...path, name], 'not carried over: `body` of a target would replace what callers say');
  }
}

function noteKey(key: unknown, path: Path, { notes }: Values): void {
  if (typeof key === 'string' && key !== '') notes.add(path, 'not carried over: OPENROUTER_API_KEY takes its place');
}
