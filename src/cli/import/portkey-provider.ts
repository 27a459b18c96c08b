import type { ProviderConfig } from '../../config/schema.ts';
import { catalog } from '../../formats/providers/catalog.ts';
import { type JsonObject, objectIn, textIn } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import type { Place } from './foreign-sources.ts';
import { filled } from './import-fields.ts';
import { placeInCloud } from './litellm-clouds.ts';
import { baseUrlOf, headersOf, isModelName, type ProviderFacts } from './litellm-deployment.ts';
import type { Path } from './notes.ts';
import { plain, reference, textOf } from './plain-values.ts';
import type { Config } from './portkey-fields.ts';

/** A virtual key, or a provider of the model catalog: whose key it is, and what surrounds it. */
export interface Key {
  provider: string | null;
  settings: JsonObject;
  /** Requests a minute. */
  rpm: number | null;
}

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

/** Provider of a target, and its model, `*` for the caller's; null, with a note, where there is no way to it. */
export function providerOf(
  leaf: Config,
  keys: ReadonlyMap<string, Key>,
): { provider: ProviderFacts; model: string } | null {
  const { fields: config, path, values } = leaf;
  const drop = (why: string, at: Path = path) => {
    values.notes.add(at, `this target is not carried over: ${why}`);
    return null;
  };
  const named = textIn(objectIn(config.override_params).model);
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
  const project = { 'OpenAI-Project': settings.openai_project ?? null };
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
      headers: headersOf(values, { organization: settings.openai_organization ?? null, headers: project }, path),
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
