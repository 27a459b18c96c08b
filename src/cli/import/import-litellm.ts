import { isObject, type JsonObject } from '../../kernel/json.ts';
import { readForeignYaml } from './foreign-yaml.ts';
import { addFallbacks } from './imported-fallbacks.ts';
import { importModels } from './imported-models.ts';
import { importProviders } from './imported-providers.ts';
import { type Deployment, readDeployment } from './litellm-deployment.ts';
import { readSettings } from './litellm-settings.ts';
import { type ImportNote, Notes } from './notes.ts';
import { objectOf, type Values, type Variables } from './plain-values.ts';

export interface Imported {
  /** In the form of culvert.yaml; texts may refer to `variables`. */
  config: { admin?: JsonObject; providers: Record<string, JsonObject>; models: Record<string, JsonObject> };
  /** Environment variables that it needs, and what for. */
  variables: Variables;
  notes: readonly ImportNote[];
}

export type ImportResult = { ok: true; imported: Imported } | { ok: false; message: string };

/** Sections that are read, or whose work needs nothing here. */
const read = ['model_list', 'litellm_settings', 'router_settings', 'general_settings', 'credential_list'];

/** Converts the configuration of a LiteLLM proxy (https://docs.litellm.ai/docs/proxy/configs). */
export function importLiteLlm(text: string): ImportResult {
  const source = readForeignYaml(text);
  if (!source.ok) return source;
  const { value: root, lineOf } = source.file;
  if (!isObject(root)) return { ok: false, message: 'is not a mapping' };
  const notes = new Notes(lineOf);
  const values: Values = { notes, variables: new Map() };
  sectionsLeftOut(root, notes);

  const settings = readSettings(values, root);
  const deployments = deploymentsOf(values, root);
  if (deployments.length === 0) {
    const why = Array.isArray(root.model_list) ? 'none of its models could be carried over' : 'has no model_list';
    const [first] = notes.list().filter(({ path }) => path.startsWith('model_list'));
    return { ok: false, message: first === undefined ? why : `${why}; line ${first.line}: ${first.message}` };
  }
  const { providers, nameOf } = importProviders(deployments, settings, notes);
  const models = importModels(deployments, settings, nameOf, notes);
  addFallbacks(models, settings, notes);
  const { adminKey } = settings;
  const config = { ...(adminKey !== null && { admin: { key: adminKey } }), providers, models };
  return { ok: true, imported: { config, variables: values.variables, notes: notes.list() } };
}

function deploymentsOf(values: Values, root: JsonObject): Deployment[] {
  const list = Array.isArray(root.model_list) ? root.model_list : [];
  const credentials = new Map<string, JsonObject>();
  for (const one of Array.isArray(root.credential_list) ? root.credential_list : []) {
    if (isObject(one)) credentials.set(String(one.credential_name), objectOf(one.credential_values));
  }
  return list.flatMap((entry, index) => readDeployment(values, entry, ['model_list', index], credentials) ?? []);
}

function sectionsLeftOut(root: JsonObject, notes: Notes): void {
  for (const name of Object.keys(root)) {
    if (read.includes(name)) continue;
    const why =
      name === 'environment_variables'
        ? 'set them in the environment of the server'
        : name === 'include'
          ? 'import those files too, and put them together'
          : 'there is no such section here';
    notes.add([name], `not carried over: ${why}`);
  }
}
