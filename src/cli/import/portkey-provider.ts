import type { ProviderConfig } from '../../config/schema.ts';
import { catalog } from '../../formats/providers/catalog.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { placeInCloud } from './litellm-clouds.ts';
import { isModelName, type ProviderFacts } from './litellm-deployment.ts';
import type { Path } from './notes.ts';
import { isWritable, objectOf, plain, reference, textOf, type Values } from './plain-values.ts';
import { withSnakeCase } from './portkey-strategy.ts';

/** A virtual key, or a provider of the model catalog: whose key it is, and what surrounds it. */
export interface PortkeyKey {
  slug: string;
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

/** An entry of `GET /v1/virtual-keys` or `GET /v1/providers`; null for anything else. */
export function readPortkeyKey(value: JsonObject, path: Path, values: Values): PortkeyKey | null {
  const { slug, object, usage_limits: budget } = value;
  const provider = [value.ai_provider_name, value.ai_provider_id, value.ai_provider].find(
    (one): one is string => typeof one === 'string',
  );
  if (typeof slug !== 'string' || (provider === undefined && object !== 'virtual-key')) return null;
  if (isObject(budget) && Object.keys(budget).length > 0) {
    values.notes.add([...path, 'usage_limits'], 'not carried over: a budget belongs to a plan here: plans.NAME.budget');
  }
  const limits = Array.isArray(value.rate_limits) ? value.rate_limits.filter(isObject) : [];
  const rpm = limits.find(({ type, unit }) => type === 'requests' && unit === 'rpm')?.value;
  for (const limit of limits) {
    if (limit.value === rpm) continue;
    values.notes.add([...path, 'rate_limits'], 'not carried over: a credential is limited only by requests per minute');
  }
  return {
    slug,
    provider: provider?.toLowerCase() ?? null,
    settings: withSnakeCase(objectOf(value.model_config)),
    rpm: typeof rpm === 'number' && rpm >= 1 ? Math.min(1e9, Math.round(rpm)) : null,
  };
}

/** Provider of a target, and its model; null, with a note, where there is no way to. `model` null: the caller's. */
export function portkeyProvider(
  config: JsonObject,
  path: Path,
  keys: ReadonlyMap<string, PortkeyKey>,
  values: Values,
): { provider: ProviderFacts; model: string | null } | null {
  const drop = (at: Path, why: string) => {
    values.notes.add(at, `this target is not carried over: ${why}`);
    return null;
  };
  const named = textIn(objectOf(config.override_params).model);
  // `@slug/model` of the model catalog.
  const [, ofModel = null, bare = named] = /^@([^/]+)\/(.+)$/.exec(named ?? '') ?? [];
  const providerText = textIn(config.provider);
  const slug = textIn(config.virtual_key) ?? (providerText?.startsWith('@') ? providerText.slice(1) : ofModel);
  const key = slug === null ? null : (keys.get(slug) ?? unlisted(slug, providerText, path, values));
  const name = (providerText?.startsWith('@') ? null : providerText?.toLowerCase()) ?? key?.provider ?? null;
  if (name === null) {
    return drop(
      path,
      `nothing says whose ${slug ?? 'key it'} is; give the answer of GET /v1/virtual-keys as a file, too`,
    );
  }
  const type = typeOf(name);
  if (type === null) return drop([...path, 'provider'], `there is no provider for ${name}`);
  const settings: JsonObject = { ...key?.settings, ...config };
  for (const [theirs, other] of Object.entries(cloudMembers)) settings[other] ??= settings[theirs];
  const place = placeInCloud(values, clouds[type], settings, path, null);
  const model = (type === 'azure-openai' ? textIn(settings.deployment_id) : null) ?? bare;
  if (model !== null && (!isModelName(model) || model.includes('*'))) return drop(path, 'its model has no name');
  const base = baseOf(type, settings, path, values);
  const needsBase = catalog.find(({ id }) => id === type)?.baseUrl === null && clouds[type] !== 'aws';
  if (needsBase && base === null) return drop(path, `${name} needs an address, as custom_host or resource_name`);
  const version = type === 'azure-openai' ? textIn(settings.api_version) : null;
  return {
    model: model === null ? null : plain(model),
    provider: {
      service: slug ?? name,
      type,
      baseUrl: base,
      apiVersion: version !== null && /^[A-Za-z0-9.-]{1,40}$/.test(version) ? version : null,
      key: place.keyless ? null : keyOf(config, slug, type, path, values),
      ...(key?.rpm != null && { rpm: key.rpm }),
      place: place.members,
      headers: {},
    },
  };
}

/** The slug of a virtual key often begins with its provider. */
function unlisted(slug: string, providerText: string | null, path: Path, values: Values): PortkeyKey {
  const known = [...Object.keys(types), ...catalog.map(({ id }) => id)].toSorted((a, b) => b.length - a.length);
  const provider = known.find((name) => slug.toLowerCase().startsWith(name)) ?? null;
  if (provider !== null && (providerText === null || providerText.startsWith('@'))) {
    values.notes.add(path, `the key ${slug} is taken to be of ${provider}, by its name`);
  }
  return { slug, provider, settings: {}, rpm: null };
}

function typeOf(name: string): ProviderConfig['type'] | null {
  return directMember(types, name) ?? catalog.find(({ id }) => id === name)?.id ?? null;
}

/** Portkey keeps the secrets of virtual keys, so the new file names a variable for each. */
function keyOf(config: JsonObject, slug: string | null, type: string, path: Path, values: Values): string | null {
  const envKey = catalog.find(({ id }) => id === type)?.envKey ?? null;
  const apiKey = textOf(values, config.api_key, [...path, 'api_key'], 'secret', envKey ?? '');
  if (apiKey !== null) return apiKey;
  if (slug !== null) return reference(values, `${variableName(slug)}_API_KEY`, 'secret');
  return envKey === null ? null : reference(values, envKey, 'secret');
}

function variableName(slug: string): string {
  const name = slug
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
  return /^\d/.test(name) ? `KEY_${name}` : name.slice(0, 150);
}

function baseOf(type: string, settings: JsonObject, path: Path, values: Values): string | null {
  const resource = type === 'azure-openai' ? textIn(settings.resource_name) : null;
  const given = textIn(settings.custom_host) ?? textIn(settings.azure_foundry_url);
  const text = given ?? (resource === null ? null : `https://${resource}.openai.azure.com`);
  if (text === null) return null;
  const url = isWritable(text) ? URL.parse(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === '') return plain(url.origin + url.pathname);
  values.notes.add([...path, 'custom_host'], 'not carried over: it is not an http:// or https:// URL');
  return null;
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
