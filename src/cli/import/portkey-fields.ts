import { type JsonObject, objectIn } from '../../kernel/json.ts';
import type { Place } from './foreign-sources.ts';
import type { FieldTable, Reader } from './import-fields.ts';
import { bodyOf } from './litellm-deployment.ts';
import { secondsOf } from './plain-values.ts';

/** A config of Portkey's, or a target in one. Its name is that of a model of ours. */
export interface Config extends Place {
  fields: JsonObject;
}

const timeoutsOf: Reader = (ms, path, values) => {
  const total = typeof ms === 'number' ? secondsOf(values, ms / 1_000, path) : null;
  return total === null ? null : { total };
};

const bodyOfRequests: Reader = (params, path, values) => {
  const { model: _, ...body } = objectIn(params);
  return bodyOf(values, body, path);
};

const guards = 'guards of a model, a plan or server check texts (docs/guards.md)';
const builtIn: FieldTable = { on_status_codes: 'which failures count is built in' };

/** Fields of configs and targets; `leavesOf` reads their strategies, and `providerOf` whom they ask. */
export const fields: FieldTable = {
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

/** Fields that say whom a target asks, and how often. */
export const placeFields =
  /^(name|weight|targets|provider|virtual_key|api_key|custom_host|resource_name|deployment_id|api_version|(azure|aws|vertex|openai)_\w+)$/;

/** Portkey takes `overrideParams` and `override_params`. */
export function withSnakeCase(config: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  );
}
