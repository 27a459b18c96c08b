import { modelName } from '../../config/schema/schema-models.ts';
import type { ProviderConfig } from '../../config/schema.ts';
import { catalog } from '../../formats/providers/catalog.ts';
import { culvert } from '../../kernel/command-form.ts';
import { isObject, type JsonObject, objectIn, textIn } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { type CloudPlace, placeInCloud } from './litellm-clouds.ts';
import { type ModelFacts, modelFactsOf } from './litellm-model-info.ts';
import { isLiteLlmPrice } from './litellm-prices.ts';
import { modelOf, type Service, serviceOf, services } from './litellm-services.ts';
import type { Path } from './notes.ts';
import { amountOf, isWritable, numberOf, plain, reference, secondsOf, textOf, type Values } from './plain-values.ts';

/** One entry of `model_list`: a place where a model runs. */
export interface Deployment {
  alias: string;
  path: Path;
  provider: ProviderFacts;
  /** Upstream id. */
  model: string;
  /** The number that LiteLLM picks by: its weight, or its rate; null when it has none. */
  share: { by: 'weight' | 'rpm' | 'tpm'; amount: number } | null;
  /** Place among those of its alias, the least first; null: behind all that have one. */
  order: number | null;
  /** Requests a minute, of its key. */
  rpm: number | null;
  timeouts: { total?: string; first_token?: string };
  /** Fields set in every request. */
  body: JsonObject;
  facts: ModelFacts;
  /** The model behind it, when its id does not tell: names of Azure's deployments are free. */
  baseModel: string | null;
}

/** Two deployments with the same value use one provider. */
export interface ProviderFacts {
  service: string;
  type: ProviderConfig['type'];
  baseUrl: string | null;
  apiVersion: string | null;
  key: string | null;
  /** Requests a minute, where they are the key's and not a model's. */
  rpm?: number;
  /** Further members of the provider. */
  place: JsonObject;
  headers: Readonly<Record<string, string>>;
}

export const nameRule = 'a name has single spaces inside alone, at most 256 characters and at most one *';

/** Whether our schema accepts it as a name, and our file as a key. */
export function isModelName(name: unknown): name is string {
  return modelName.safeParse(name).success && !String(name).includes('${');
}

/** Parameters that are read here, or mean nothing to a gateway that is built otherwise. */
const known: ReadonlySet<string> = new Set(
  `model custom_llm_provider api_key api_base base_url api_version organization
  extra_headers headers extra_body timeout stream_timeout rpm tpm weight order
  drop_params allowed_openai_params litellm_credential_name use_in_pass_through`.split(/\s+/),
);

/** Null, with a note, for an entry that has no place here. */
export function readDeployment(
  values: Values,
  entry: unknown,
  path: Path,
  credentials: ReadonlyMap<string, JsonObject>,
): Deployment | null {
  const { notes } = values;
  const drop = (at: Path, why: string) => {
    notes.add(at, `this model is not carried over: ${why}`);
    return null;
  };
  if (!isObject(entry)) return drop(path, 'it is not a mapping');
  const { model_name: alias } = entry;
  if (!isModelName(alias)) return drop([...path, 'model_name'], nameRule);
  const at = [...path, 'litellm_params'];
  const litellmParams = objectIn(entry.litellm_params);
  const info = objectIn(entry.model_info);
  const params = { ...credentials.get(String(litellmParams.litellm_credential_name)), ...litellmParams };
  if (textIn(info.team_id) !== null)
    return drop(
      [...path, 'model_info', 'team_id'],
      'it is of one team alone; a plan without `models` may use all here',
    );
  if (typeof params.model !== 'string' || params.model === '') return drop(at, 'it names no model');
  const named = /^os\.environ\/(.*)$/.exec(params.model)?.[1];
  if (named !== undefined)
    return drop([...at, 'model'], `its provider and its name are in ${named}: write them into the file`);
  const customProvider = typeof params.custom_llm_provider === 'string' ? params.custom_llm_provider : null;
  const found = serviceOf(params.model, customProvider);
  if (found === null) return drop([...at, 'model'], `nothing says which service has the model ${params.model}`);
  const service = directMember(services, found.service) ?? null;
  if (service === null) return drop([...at, 'model'], byHand(found.service));
  if (service.others?.test(found.model) === true) {
    return drop([...at, 'model'], `Culvert has no way to ask ${found.service} for ${found.model}`);
  }
  const { model, region } = modelOf(service, found.model);
  if (model === '' || /\s/.test(model) || !isWritable(model))
    return drop([...at, 'model'], 'it names no model of its provider');
  if (model.includes('*') && !alias.includes('*')) {
    return drop([...at, 'model'], 'a * there needs a * in model_name, because it is replaced by the match');
  }
  if (!modelName.safeParse(model).success) return drop([...at, 'model'], 'it is too long, or has more than one *');
  const place = placeInCloud(values, service.cloud, params, at, region);
  if (params.weight === 0 || params.weight === '0') return drop([...at, 'weight'], 'its weight is 0');
  const provider = providerOf(values, params, at, { name: found.service, service, place });
  if (provider === null) return null;

  for (const name of Object.keys(litellmParams)) {
    if (!known.has(name) && !place.read.includes(name) && !isLiteLlmPrice(name))
      notes.add([...at, name], `not carried over: ${directMember(elsewhere, name) ?? unknownParameter}`);
  }
  const body = bodyOf(values, params.extra_body, [...at, 'extra_body']);
  const total = secondsOf(values, params.timeout, [...at, 'timeout']);
  const firstToken = secondsOf(values, params.stream_timeout, [...at, 'stream_timeout']);
  const rpm = numberOf(values, params.rpm ?? entry.rpm, [...at, 'rpm']);
  return {
    alias,
    path,
    provider,
    model: plain(model),
    share: shareOf(values, { ...entry, ...params }, at),
    order: amountOf(values, params.order ?? info.order, [...at, 'order']),
    rpm: rpm === null ? null : Math.min(1e9, Math.max(1, Math.round(rpm))),
    timeouts: { ...(total !== null && { total }), ...(firstToken !== null && { first_token: firstToken }) },
    body,
    facts: modelFactsOf(values, info, params, model, path),
    baseModel: textIn(info.base_model),
  };
}

/** How to ask a service that needs more than LiteLLM's file says, such as an account, or that has no type here. */
function byHand(service: string): string {
  const [word = service] = service.split('_');
  const type = catalog.find(({ id }) => id === service || id === word);
  return type === undefined
    ? `no provider here is named ${service}. Write one by hand: type openai with its base_url, if it speaks OpenAI's API`
    : `its account and address are written otherwise here. Write a provider by hand: type ${type.id} (docs/providers.md)`;
}

const unknownParameter =
  'there is no such setting here. LiteLLM takes it as a default of requests; `body` of a target would replace what callers say';

const retries = 'models.NAME.attempts sets how many attempts a request has over all targets';
const spending = 'budgets belong to plans, accounts and keys';
const mocked = `requests are sent to the provider; ${culvert} mock is an upstream for tests`;

/** Parameters that are no defaults of requests, and what does their work. */
const elsewhere: Readonly<Record<string, string>> = {
  tags: 'every caller gets this target; routes.NAME.when sends requests with a tag to some targets alone',
  max_parallel_requests: 'a target has no limit of concurrent requests; plans and keys have',
  max_budget: spending,
  budget_duration: spending,
  max_retries: retries,
  num_retries: retries,
  additional_drop_params: 'Culvert leaves out what a provider is known not to take, and no other fields',
  merge_reasoning_content_in_choices: 'callers get thoughts as reasoning_content',
  cache_control_injection_points: 'models.NAME.prompt_cache: auto keeps the beginning of prompts',
  mock_response: mocked,
  mock_timeout: mocked,
};

function providerOf(
  values: Values,
  params: JsonObject,
  at: Path,
  { name, service, place }: { name: string; service: Service; place: CloudPlace },
): ProviderFacts | null {
  const where = ['api_base', 'aws_bedrock_runtime_endpoint'].find((one) => params[one] !== undefined) ?? 'base_url';
  const base = baseUrlOf(values, params[where], [...at, where]);
  if (base === null && service.needsBase === true) {
    values.notes.add(at, `this model is not carried over: ${name} needs an api_base`);
    return null;
  }
  // Only for its own service: a key must not go to another address.
  const envKey = place.keyless || (base !== null && service.cloud !== 'azure') ? undefined : service.envKey;
  const key =
    textOf(values, params.api_key, [...at, 'api_key'], 'secret', envKey) ??
    (envKey === undefined ? null : reference(values, envKey, 'secret'));
  if (key === null && service.envKey !== undefined && !place.keyless) {
    values.notes.add([...at, where], `no key is sent there: LiteLLM sends ${service.envKey}, which is for ${name}`);
  }
  const apiVersion = service.type === 'azure-openai' ? params.api_version : undefined;
  const version = textOf(values, apiVersion, [...at, 'api_version'], 'text');
  return {
    service: name,
    type: service.type,
    // Endpoints of one's own at Hugging Face have OpenAI's API below /v1, which LiteLLM adds.
    baseUrl:
      service.type === 'huggingface' && base !== null
        ? base.replace(/\/?(?:v1\/?)?$/, '/v1')
        : (base ?? service.baseUrl ?? null),
    apiVersion: version !== null && /^(\$\{\w+\}|[A-Za-z0-9.-]{1,40})$/.test(version) ? version : null,
    key,
    place: place.members,
    headers: headersOf(values, params, at),
  };
}

/** An address without what only a caller's URL has; null, with a note, where it is none. */
export function baseUrlOf(values: Values, value: unknown, path: Path): string | null {
  const text = textOf(values, value, path, 'url');
  if (text === null || text.startsWith('${')) return text;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    values.notes.add(path, 'not carried over: it is not an http:// or https:// URL');
    return null;
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    values.notes.add(path, 'carried over without its user, password, query and fragment');
    return url.origin + url.pathname;
  }
  return text;
}

/** Headers of every request to a provider, with a note for each that HTTP cannot hold. */
export function headersOf(values: Values, params: JsonObject, at: Path): Record<string, string> {
  const headers: Record<string, string> = {};
  const take = (name: string, value: unknown, path: Path) => {
    const secret = /auth|key|token|secret|cookie|credential/i.test(name);
    const text = textOf(values, value, path, secret ? 'secret' : 'text');
    const carries = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && (text === null || /^[\t\x20-\x7e]*$/.test(text));
    if (text !== null && carries) headers[name] = text;
    else if (!carries) values.notes.add(path, 'not carried over: HTTP cannot hold such a header');
  };
  take('OpenAI-Organization', params.organization, [...at, 'organization']);
  for (const from of ['headers', 'extra_headers']) {
    for (const [name, value] of Object.entries(objectIn(params[from]))) take(name, value, [...at, from, name]);
  }
  return headers;
}

/** The weight of LiteLLM's shuffle. */
function shareOf(values: Values, facts: JsonObject, at: Path): Deployment['share'] {
  for (const by of ['weight', 'rpm', 'tpm'] as const) {
    const amount = facts[by] === undefined ? null : numberOf(values, facts[by], [...at, by]);
    if (amount !== null) return { by, amount };
  }
  return null;
}

/** Fields that a target sets in every request; none, with a note, where culvert.yaml cannot hold them. */
export function bodyOf({ notes }: Values, value: unknown, path: Path): JsonObject {
  if (!isObject(value)) return {};
  if (isWritableWhole(value)) return withPlainTexts(value) as JsonObject;
  notes.add(path, 'not carried over: it holds a reference where culvert.yaml cannot have one');
  return {};
}

function isWritableWhole(value: unknown): boolean {
  if (typeof value === 'string') return isWritable(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([name, member]) => !/\$\{|^__proto__$/.test(name) && isWritableWhole(member));
}

function withPlainTexts(value: unknown): unknown {
  if (typeof value === 'string') return plain(value);
  if (Array.isArray(value)) return value.map(withPlainTexts);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withPlainTexts(member)]));
}
