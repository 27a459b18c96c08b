import { aliasFor } from '../../config/alias-pattern.ts';
import { parametersSchema } from '../../config/schema/schema-parameters.ts';
import { culvert } from '../../kernel/command-form.ts';
import { isObject, type JsonObject, listIn, objectIn } from '../../kernel/json.ts';
import { nothingToImport } from './foreign-sources.ts';
import { readForeignYaml } from './foreign-yaml.ts';
import type { ImportResult } from './imported.ts';
import { attemptsDefault, attemptsMax, importModels } from './imported-models.ts';
import { importProviders } from './imported-providers.ts';
import { importAccounts } from './litellm-accounts.ts';
import { addCache } from './litellm-cache.ts';
import type { LiteLlmRows } from './litellm-database.ts';
import { type Deployment, isModelName, readDeployment } from './litellm-deployment.ts';
import { importGuards } from './litellm-guards.ts';
import { importMcpServers } from './litellm-mcp.ts';
import { readSettings, type Settings } from './litellm-settings.ts';
import { Notes, type Path } from './notes.ts';
import { isWritable, listOfTexts, plain, textOr, type Values } from './plain-values.ts';

/** Sections that are read, or whose work needs nothing here. */
const read =
  'model_list litellm_settings router_settings general_settings credential_list guardrails prompts mcp_servers'.split(
    ' ',
  );

/** Names that its database has for sections of the file. */
const importedSections = ['litellm_settings', 'router_settings', 'general_settings'];

/**
 * Converts the configuration of a LiteLLM proxy (https://docs.litellm.ai/docs/proxy/configs). `text` is empty where all of
 * it is in the `database`, whose settings take precedence over the file's, as in LiteLLM.
 */
export function importLiteLlm(text: string, database: LiteLlmRows | null = null, nowMs = Date.now()): ImportResult {
  const source = readForeignYaml(text);
  if (!source.ok) return source;
  const { value, lineOf } = source.file;
  const file = value ?? (database === null ? value : {});
  if (!isObject(file)) return { ok: false, message: 'is not a mapping' };
  const { root, isKept: isImported } = withDatabase(file, database);
  const notes = new Notes((path) => (isImported(path) ? null : lineOf(path)));
  const values: Values = { notes, variables: new Map() };
  sectionsLeftOut(root, database, notes);
  if (database?.sealed === true) notes.add(['LiteLLM_ProxyModelTable'], sealedValues);

  const settings = readSettings(values, root);
  const deployments = deploymentsOf(values, root, database);
  if (deployments.length === 0) {
    const why = Array.isArray(root.model_list) ? 'none of its models could be carried over' : 'has no model_list';
    return nothingToImport(
      why,
      notes.list().filter(({ path }) => /^(model_list|LiteLLM_ProxyModelTable)/.test(path)),
    );
  }
  const { providers, nameOf } = importProviders(deployments, settings, notes);
  const models = importModels(deployments, settings, nameOf, notes);
  addFallbacks(models, settings, notes);
  for (const model of Object.values(models)) reachFallbacks(models, model);
  addCache(values, models, root);
  const { guards, always } = importGuards(values, root, database);
  const prompts = importPrompts(values, root, database, models);
  const servers = importMcpServers(values, root);
  const { adminKey } = settings;
  const people = database === null ? {} : importAccounts(database, groupsOf(root, database), notes, nowMs);
  const config = {
    ...(adminKey !== null && { admin: { key: adminKey } }),
    ...(always.length > 0 && { server: { guards: always } }),
    providers,
    models,
    ...(Object.keys(guards).length > 0 && { guards }),
    ...(Object.keys(prompts).length > 0 && { prompts }),
    ...(Object.keys(servers).length > 0 && { mcp: { servers } }),
    ...people,
  };
  return { ok: true, imported: { config, variables: values.variables, notes: notes.list() } };
}

const sealedValues =
  'some values cannot be decrypted; set LITELLM_SALT_KEY, or LITELLM_MASTER_KEY where LiteLLM had no salt key';

/** The file with the settings that the database keeps. `isImported`: whether a place is the database's. */
function withDatabase(file: JsonObject, database: LiteLlmRows | null) {
  const sections: Record<string, JsonObject> = {};
  for (const { param_name: name, param_value: value } of database?.tables.LiteLLM_Config ?? []) {
    if (typeof name === 'string' && importedSections.includes(name) && isObject(value)) sections[name] = value;
  }
  const root: JsonObject = { ...file };
  for (const [name, value] of Object.entries(sections)) root[name] = { ...objectIn(file[name]), ...value };
  // Its address has done its work.
  if (database !== null) root.general_settings = { ...objectIn(root.general_settings), database_url: null };
  const isImported = ([section, name]: Path): boolean =>
    String(section).startsWith('LiteLLM_') || Object.hasOwn(sections[section ?? ''] ?? {}, name ?? '');
  return { root, isKept: isImported };
}

function deploymentsOf(values: Values, root: JsonObject, database: LiteLlmRows | null): Deployment[] {
  const list = listIn(root.model_list);
  const credentials = new Map<string, JsonObject>();
  const credentialRows = database?.tables.LiteLLM_CredentialsTable ?? [];
  for (const one of [...listIn(root.credential_list), ...credentialRows]) {
    if (isObject(one)) credentials.set(String(one.credential_name), objectIn(one.credential_values));
  }
  const inFile = list.flatMap(
    (entry, index) => readDeployment(values, entry, ['model_list', index], credentials) ?? [],
  );
  const stored = (database?.tables.LiteLLM_ProxyModelTable ?? []).flatMap((row) => {
    const path = ['LiteLLM_ProxyModelTable', String(row.model_name)];
    if (row.blocked !== true) return readDeployment(values, row, path, credentials) ?? [];
    values.notes.add(path, 'this model is not carried over: it is blocked');
    return [];
  });
  return [...inFile, ...stored];
}

/** Aliases with the access groups that their `model_info` names. */
function groupsOf(root: JsonObject, { tables }: LiteLlmRows): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>();
  for (const entry of [...listIn(root.model_list), ...tables.LiteLLM_ProxyModelTable]) {
    if (!isObject(entry) || typeof entry.model_name !== 'string') continue;
    const named = listOfTexts(objectIn(entry.model_info).access_groups);
    groups.set(entry.model_name, [...(groups.get(entry.model_name) ?? []), ...named]);
  }
  return groups;
}

function sectionsLeftOut(root: JsonObject, database: LiteLlmRows | null, notes: Notes): void {
  for (const name of Object.keys(root)) {
    if (!read.includes(name)) notes.add([name], whyLeftOut(name));
  }
  for (const { param_name: name } of database?.tables.LiteLLM_Config ?? []) {
    // LiteLLM makes mcp_catalog itself.
    if (![...importedSections, 'mcp_catalog'].includes(String(name)))
      notes.add(['LiteLLM_Config', String(name)], whyLeftOut(String(name)));
  }
}

function whyLeftOut(section: string): string {
  if (section === 'environment_variables') return 'not carried over: set them in the environment of the server';
  if (section === 'include') return 'not carried over: import those files too, and put them together';
  if (section === 'search_tools') return 'not carried over: write them into tools.search.providers (docs/web-tools.md)';
  return 'not carried over: there is no such section here';
}

/** The schema's own. */
const fallbacksMax = 20;

/**
 * Adds `fallbacks` to the models. What our configuration refuses is left out and noted: models that are not there, ways
 * back to the model itself, other types, other vector spaces.
 */
function addFallbacks(models: Models, { fallbacks }: Settings, notes: Notes): void {
  for (const { from, to, path } of fallbacks) {
    if (from === null) addToAll(models, to, path, notes);
    else if (!Object.hasOwn(models, from)) notes.add(path, `not carried over: there is no model ${from} here`);
    else for (const next of to) add(models, from, next, path, notes);
  }
}

type Models = Record<string, JsonObject>;

/** LiteLLM retries each model separately, so attempts are at least the targets of it and of its fallbacks. */
function reachFallbacks(models: Models, model: JsonObject): void {
  const next = listOf(model).map((name) => resolve(models, name)?.model);
  if (next.length === 0) return;
  const least = [model, ...next].reduce((sum, one) => sum + listIn(one?.targets).length, 0);
  const attempts = typeof model.attempts === 'number' ? model.attempts : attemptsDefault;
  if (attempts < least) model.attempts = Math.min(attemptsMax, least);
}

/** To every model that has none and is none of them. */
function addToAll(models: Models, to: readonly string[], path: Path, notes: Notes): void {
  const bare = Object.entries(models).filter(([alias, model]) => listOf(model).length === 0 && !to.includes(alias));
  for (const [alias, model] of bare)
    for (const next of to) if (refused(models, alias, model, next) === null) push(model, next);
  for (const next of to) {
    if (resolve(models, next) === null) notes.add(path, `not carried over: there is no model ${next} here`);
  }
}

function add(models: Models, alias: string, next: string, path: Path, notes: Notes): void {
  const model = models[alias] ?? {};
  const why = refused(models, alias, model, next);
  if (why !== null) notes.add(path, `the fallback to ${next} is not carried over: ${why}`);
  else push(model, next);
}

function push(model: JsonObject, next: string): void {
  const list = listOf(model);
  if (!list.includes(next)) model.fallbacks = [...list, next];
}

function refused(models: Models, alias: string, model: JsonObject, next: string): string | null {
  const found = resolve(models, next);
  if (found === null) return 'there is no such model here';
  if (found.alias === alias || reaches(models, found, alias)) return 'it leads back to the model itself';
  if ((found.model.type ?? 'chat') !== (model.type ?? 'chat')) return 'it is of another type';
  if (model.type === 'embedding') return 'its vectors are those of another model';
  if (next.includes('*') && !alias.includes('*')) return 'a pattern can only follow a pattern';
  return listOf(model).length >= fallbacksMax ? `a model has at most ${fallbacksMax}` : null;
}

function reaches(models: Models, from: Resolved, goal: string): boolean {
  const seen = new Map([[from.alias, from.model]]);
  // A map also visits what is added while it is walked.
  for (const model of seen.values()) {
    for (const fallback of listOf(model)) {
      const next = resolve(models, fallback);
      if (next?.alias === goal) return true;
      if (next !== null) seen.set(next.alias, next.model);
    }
  }
  return false;
}

type Resolved = NonNullable<ReturnType<typeof resolve>>;

function resolve(models: Models, name: string) {
  return isModelName(name) ? aliasFor(models, name) : null;
}

function listOf(model: JsonObject): string[] {
  return Array.isArray(model.fallbacks) ? (model.fallbacks as string[]) : [];
}

/** LiteLLM's `.prompt` files: front matter in YAML, then `System:`, `User:` and `Assistant:` before the texts. */
const file = /^\s*---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/;
const author = /^(System|Developer|User|Assistant):[ \t]*/gim;
const parameters = ['temperature', 'top_p', 'max_tokens'] as const;

/** Converts `prompts` whose text the file holds. Those that another service or a folder holds are noted. */
function importPrompts(
  { notes }: Values,
  root: JsonObject,
  database: LiteLlmRows | null,
  models: Readonly<Record<string, unknown>>,
): Record<string, JsonObject> {
  const found: Record<string, JsonObject> = {};
  const inFile = listIn(root.prompts).map((one: unknown, index): [Path, JsonObject] => [
    ['prompts', index],
    objectIn(one),
  ]);
  // The newest version of each first: it is the one that is taken.
  const stored = (database?.tables.LiteLLM_PromptTable ?? [])
    .toSorted((a, b) => Number(b.version ?? 1) - Number(a.version ?? 1))
    .map((row): [Path, JsonObject] => [['LiteLLM_PromptTable', String(row.prompt_id)], row]);
  for (const [path, { prompt_id: id, litellm_params: given }] of [...inFile, ...stored]) {
    const params = objectIn(given);
    const content = params.dotprompt_content;
    if (typeof content !== 'string') {
      const from = textOr(params.prompt_integration, 'another place').slice(0, 40);
      notes.add(path, `not carried over: its text is not in this file, but at ${from}; ${culvert} prompts adds it`);
      continue;
    }
    const name = textOr(id, textOr(params.prompt_id, ''))
      .replace(/[^A-Za-z\d_.-]+/g, '-')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 64);
    const result = promptOf(content, models);
    if (name === '' || name in Object.prototype)
      notes.add(path, 'not carried over: it has no prompt_id that can be a name here');
    else if (typeof result === 'string') notes.add(path, `not carried over: ${result}`);
    else if (Object.hasOwn(found, name))
      notes.add(path, 'not carried over: another prompt, or a newer version, has this name');
    else {
      found[name] = result.prompt;
      for (const left of result.left) notes.add(path, `${left}: not carried over`);
    }
  }
  return found;
}

function promptOf(
  content: string,
  models: Readonly<Record<string, unknown>>,
): string | { prompt: JsonObject; left: string[] } {
  const [, head = '', body = content] = file.exec(content) ?? [];
  if (/\{%|\{\{[\w\s]*[^\w\s}][^}]*\}\}/.test(body)) return 'its text has more than {{names}} of variables';
  const yaml = readForeignYaml(head);
  const front = yaml.ok ? objectIn(yaml.file.value) : {};
  const messages = messagesOf(body);
  if (messages.length === 0) return 'it has no text';
  if (!isWritable(body)) return 'culvert.yaml cannot hold a reference without its end';
  const schema = objectIn(objectIn(front.input).schema);
  const names = [...body.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name]) => name ?? '');
  const wrong = names.find((name) => !/^[A-Za-z_]\w{0,63}$/.test(name));
  if (wrong !== undefined) return `{{${wrong}}} is not a name of a variable here`;
  const variables = Object.fromEntries([...new Set(names)].map((name) => [name, typeOf(schema[name])]));
  const model = typeof front.model === 'string' && Object.hasOwn(models, front.model) ? front.model : null;
  const set = parameters.flatMap((name) =>
    parametersSchema.shape[name].safeParse(front[name]).data === undefined ? [] : [[name, front[name]] as const],
  );
  const read = ['model', 'input', 'output', ...parameters];
  return {
    prompt: {
      ...(Object.keys(variables).length > 0 && { variables }),
      ...(model !== null && { model: plain(model) }),
      ...(set.length > 0 && { parameters: Object.fromEntries(set) }),
      messages,
    },
    left: [
      ...(front.model !== undefined && model === null ? ['model, which the request names instead'] : []),
      ...Object.keys(front).filter((name) => !read.includes(name)),
      ...parameters.filter((name) => front[name] !== undefined && !set.some(([taken]) => taken === name)),
      ...(isObject(front.output) ? ['output'] : []),
    ],
  };
}

function messagesOf(body: string): JsonObject[] {
  const begins = [...body.matchAll(author)];
  const parts =
    begins.length === 0
      ? [{ role: 'user', content: body }]
      : begins.map((begin, at) => ({
          role: (begin[1] ?? '').toLowerCase().replace('developer', 'system'),
          content: body.slice(begin.index + begin[0].length, begins[at + 1]?.index),
        }));
  return parts
    .map(({ role, content }) => ({ role, content: plain(content.trim().replace(/\{\{\s*(\w+)\s*\}\}/g, '{{$1}}')) }))
    .filter(({ content }) => content !== '');
}

/** Type in a member of a `.prompt` file's schema: `string`, or `string, what it is for`. */
function typeOf(written: unknown): string {
  const type = /^(?:string|number|integer|boolean)/.exec(String(written))?.[0] ?? 'string';
  return type === 'integer' ? 'number' : type;
}
