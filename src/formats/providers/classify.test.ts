import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { UpstreamError } from '../dialects/dialect.ts';
import type { FaultClass } from '../neutral/outcome.ts';
import { catalog, providerTypes } from './catalog.ts';
import { classifyError, isOfModel } from './classify.ts';

type Row = readonly [status: number, error: Partial<UpstreamError> | null, expected: FaultClass];

function check(type: string, rows: readonly Row[]): void {
  const provider = providerTypes.get(type);
  assert.ok(provider);
  for (const [status, error, expected] of rows) {
    const full = error === null ? null : { message: '', code: '', param: null, ...error };
    assert.equal(classifyError(provider, status, full), expected, `${type} ${status} ${JSON.stringify(error)}`);
  }
}

/** Design §8: true of every provider, whatever its own rules say of certain codes. */
const everywhere: readonly Row[] = [
  [400, { message: 'temperature must be at most 2', param: 'temperature' }, 'caller_fault'],
  [409, null, 'caller_fault'],
  [413, null, 'too_long'],
  [415, null, 'caller_fault'],
  [422, { message: 'Extra inputs are not permitted' }, 'caller_fault'],
  [401, null, 'bad_credential'],
  [402, null, 'quota_exhausted'],
  [403, null, 'bad_credential'],
  [404, null, 'model_unavailable'],
  [410, null, 'model_unavailable'],
  [429, null, 'rate_limited'],
  [451, null, 'region_blocked'],
  [302, null, 'transient'],
  [408, null, 'transient'],
  [425, null, 'transient'],
  [500, null, 'transient'],
  [502, { message: '<html>' }, 'transient'],
  [503, null, 'transient'],
  [504, null, 'transient'],
  [529, null, 'transient'],
];

describe('status alone, for every provider', () => {
  for (const provider of catalog) test(provider.id, () => check(provider.id, everywhere));
});

const byProvider: Readonly<Record<string, readonly Row[]>> = {
  gemini: [
    [400, { code: 'API_KEY_INVALID', message: 'API key not valid. Please pass a valid API key.' }, 'bad_credential'],
    [400, { code: 'INVALID_ARGUMENT', message: 'API key expired. Please renew the API key.' }, 'bad_credential'],
    [
      400,
      { code: 'FAILED_PRECONDITION', message: 'User location is not supported for the API use.' },
      'region_blocked',
    ],
    [400, { code: 'FAILED_PRECONDITION', message: 'Please enable billing on your project.' }, 'quota_exhausted'],
    [400, { code: 'INVALID_ARGUMENT', message: 'The input token count exceeds the maximum' }, 'too_long'],
    [403, { code: 'PERMISSION_DENIED', message: 'You do not have permission to access the File x' }, 'caller_fault'],
    [403, { code: 'SERVICE_DISABLED', message: 'Generative Language API has not been used' }, 'bad_credential'],
    [404, { code: 'NOT_FOUND', message: 'models/x is not found for API version v1beta' }, 'model_unavailable'],
    [
      429,
      { code: 'RESOURCE_EXHAUSTED', message: 'You exceeded your current quota, please check your plan and billing' },
      'rate_limited',
    ],
    [429, { code: 'RESOURCE_EXHAUSTED_PER_DAY', message: 'You exceeded your current quota' }, 'quota_exhausted'],
    [429, { code: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded for metric: x, limit: 0' }, 'quota_exhausted'],
    [499, { code: 'CANCELLED' }, 'transient'],
    [503, { code: 'UNAVAILABLE', message: 'The model is overloaded.' }, 'transient'],
    [200, { code: 'UNAVAILABLE', message: 'The model is overloaded.' }, 'transient'],
    [200, { code: 'INVALID_ARGUMENT' }, 'caller_fault'],
    [200, { code: '503' }, 'transient'],
    [200, null, 'malformed'],
  ],
  openai: [
    [429, { code: 'insufficient_quota', message: 'You exceeded your current quota' }, 'quota_exhausted'],
    [429, { code: 'rate_limit_exceeded' }, 'rate_limited'],
    [400, { code: 'context_length_exceeded' }, 'too_long'],
    [400, { code: 'content_policy_violation' }, 'filtered'],
    [401, { code: 'invalid_api_key' }, 'bad_credential'],
    [
      403,
      { code: 'unsupported_country_region_territory', message: 'Country, region, or territory not supported' },
      'region_blocked',
    ],
    [403, { code: 'model_not_found', message: 'Project does not have access to model gpt-x' }, 'model_unavailable'],
    [403, { message: 'You are not allowed to sample from this model' }, 'model_unavailable'],
    [404, { code: 'model_not_found', param: 'model' }, 'model_unavailable'],
    [404, { message: 'The model `gpt-x` does not exist' }, 'model_unavailable'],
    [404, { message: 'No such file object: file-abc', param: 'file_id' }, 'caller_fault'],
    [404, { message: 'Response with id resp_1 not found.' }, 'caller_fault'],
    [200, null, 'malformed'],
    [200, { code: 'rate_limit_exceeded' }, 'rate_limited'],
    [200, { code: 'server_error' }, 'transient'],
    [200, { message: 'something odd' }, 'malformed'],
    [400, { code: 'constructor' }, 'caller_fault'],
    // The words are the caller's.
    [400, { message: "Tool 'model x not found' has no description" }, 'caller_fault'],
    [400, { message: 'The file for this model was not found', param: 'file_id' }, 'caller_fault'],
  ],
  'azure-openai': [
    [
      400,
      {
        code: 'content_filter',
        message: 'The response was filtered due to the prompt triggering Azure OpenAI’s content management policy',
      },
      'filtered',
    ],
    [
      404,
      { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist' },
      'model_unavailable',
    ],
    [404, { code: '404', message: 'Resource not found' }, 'model_unavailable'],
    [
      401,
      { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint' },
      'bad_credential',
    ],
    [403, { message: 'Out of call volume quota for the subscription' }, 'quota_exhausted'],
    [429, { code: '429', message: 'Requests have exceeded token rate limit' }, 'rate_limited'],
  ],
  anthropic: [
    [529, { code: 'overloaded_error' }, 'transient'],
    [200, { code: 'overloaded_error' }, 'transient'],
    [429, { code: 'rate_limit_error' }, 'rate_limited'],
    [
      400,
      { code: 'invalid_request_error', message: 'Your credit balance is too low to access the API' },
      'quota_exhausted',
    ],
    [400, { code: 'invalid_request_error', message: 'prompt is too long: 205000 tokens > 200000 maximum' }, 'too_long'],
    [401, { code: 'authentication_error' }, 'bad_credential'],
    [403, { code: 'permission_error' }, 'bad_credential'],
    [404, { code: 'not_found_error', message: 'model: claude-x' }, 'model_unavailable'],
    [413, { code: 'request_too_large' }, 'too_long'],
  ],
  groq: [
    [400, { code: 'model_decommissioned', message: 'The model has been decommissioned' }, 'model_unavailable'],
    [413, { code: 'rate_limit_exceeded', message: 'Request too large for model on tokens per minute' }, 'too_long'],
    [498, null, 'rate_limited'],
    [404, { code: 'model_not_found' }, 'model_unavailable'],
  ],
  mistral: [
    [400, { code: '1500', message: 'Invalid model: mistral-x' }, 'model_unavailable'],
    [403, { message: 'This model is not available on your subscription tier' }, 'model_unavailable'],
    [429, { message: 'Service tier capacity exceeded for this model.' }, 'transient'],
    [429, { message: 'Requests rate limit exceeded' }, 'rate_limited'],
  ],
  openrouter: [
    [402, { code: '402', message: 'Insufficient credits' }, 'quota_exhausted'],
    [403, { code: '403', message: 'Your input was flagged by moderation' }, 'filtered'],
    [403, { code: '403', message: 'Key disabled' }, 'bad_credential'],
    [404, { code: '404', message: 'No endpoints found for x/y.' }, 'model_unavailable'],
    [404, { code: '404', message: 'No endpoints found that support tool use.' }, 'caller_fault'],
    [400, { code: '400', message: 'x/y is not a valid model ID' }, 'model_unavailable'],
    [200, { code: '502', message: 'Provider returned error' }, 'transient'],
    [200, { code: '429', message: 'Provider returned error' }, 'rate_limited'],
  ],
  deepseek: [
    [400, { code: 'invalid_request_error', message: 'Model Not Exist' }, 'model_unavailable'],
    [402, { message: 'Insufficient Balance' }, 'quota_exhausted'],
  ],
  xai: [
    [400, { message: 'Incorrect API key provided: xa***yz.' }, 'bad_credential'],
    [429, { message: 'Your team has used all available credits' }, 'quota_exhausted'],
  ],
  together: [
    [403, { message: 'Input token count + max_tokens parameter must be less than the context length' }, 'too_long'],
    [400, { message: 'Unable to access non-serverless model x' }, 'model_unavailable'],
  ],
  fireworks: [[412, { message: 'Account is suspended, check your billing' }, 'quota_exhausted']],
  elevenlabs: [
    [404, { code: 'voice_not_found', message: 'A voice with the voice_id x was not found.' }, 'caller_fault'],
    [401, { code: 'quota_exceeded', message: 'This request exceeds your quota of 10000.' }, 'quota_exhausted'],
    [401, { code: 'invalid_api_key', message: 'Invalid API key' }, 'bad_credential'],
  ],
  deepgram: [
    [400, { code: 'Bad Request', message: 'No such model/version combination found.' }, 'caller_fault'],
    [403, { message: 'Project does not have access to the requested model.' }, 'caller_fault'],
    [403, { message: 'User does not have sufficient permissions.' }, 'bad_credential'],
  ],
  nvidia: [[404, { message: "Function 'abc': Not found for account" }, 'model_unavailable']],
  cohere: [
    [429, { message: 'You are using a Trial key, which is limited to 1000 API calls / month' }, 'quota_exhausted'],
    [498, { message: 'blocked output' }, 'filtered'],
  ],
  ollama: [[404, { message: "model 'qwen' not found, try pulling it first" }, 'model_unavailable']],
  lmstudio: [[400, { message: 'No models loaded. Please load a model' }, 'model_unavailable']],
  llamacpp: [
    [400, { code: 'exceed_context_size_error', message: 'the request exceeds the available context size' }, 'too_long'],
    [503, { code: 'unavailable_error', message: 'Loading model' }, 'transient'],
  ],
  vllm: [[404, { code: 'NotFoundError', message: 'The model `x` does not exist.' }, 'model_unavailable']],
};

/** Said by any vendor, to whom another one's error may be passed on: whichever format its service speaks. */
const passedOn: readonly Row[] = [
  [
    400,
    { code: 'invalid_request_error', message: 'The model `x` does not exist', param: 'model' },
    'model_unavailable',
  ],
  [400, { code: 'invalid_model', message: 'Invalid model: x' }, 'model_unavailable'],
  [400, { message: "Invalid model 'x'. Permitted models are in the documentation." }, 'model_unavailable'],
  [400, { code: 'ValidationException', message: 'The provided model identifier is invalid.' }, 'model_unavailable'],
  [400, { message: "model 'x' not found, try pulling it first" }, 'model_unavailable'],
  [400, { message: 'x/y is not a valid model ID' }, 'model_unavailable'],
  [400, { message: 'Model Not Exist' }, 'model_unavailable'],
  [422, { code: 'DeploymentNotFound', message: 'The API deployment does not exist' }, 'model_unavailable'],
  [404, { message: 'Publisher Model `projects/p/models/x` was not found' }, 'model_unavailable'],
  [
    400,
    { code: 'ValidationException', message: "Invocation of model ID x with on-demand throughput isn't supported." },
    'model_unavailable',
  ],
  [400, { code: '1211', message: '模型不存在,请检查模型代码。' }, 'model_unavailable'],
  [400, { message: 'This model does not support image input' }, 'caller_fault'],
  [400, { message: 'Your credit balance is too low to access the Anthropic API.' }, 'quota_exhausted'],
  [400, { code: 'blocked_api_access', message: 'Your organization has reached its spend limit' }, 'quota_exhausted'],
  [
    403,
    { message: 'Your team has either used all available credits or reached its monthly spending limit.' },
    'quota_exhausted',
  ],
  [403, { message: 'provider said insufficient_quota' }, 'quota_exhausted'],
  [400, { message: 'Output blocked by content filtering policy' }, 'filtered'],
  [400, { code: 'data_inspection_failed', message: 'Input data may contain inappropriate content.' }, 'filtered'],
  [403, { message: 'Content violates usage guidelines.' }, 'filtered'],
  [400, { message: 'prompt is too long: 9000 tokens > 8192 maximum' }, 'too_long'],
  [500, { message: 'the request exceeds the available context size' }, 'too_long'],
  [503, { message: 'the request exceeds the available context size' }, 'transient'],
];

const spent: readonly Row[] = [
  [429, { code: 'insufficient_quota', message: 'You exceeded your current quota' }, 'quota_exhausted'],
  [429, { message: 'insufficient_quota: You exceeded your current quota' }, 'quota_exhausted'],
];

describe("another vendor's error, passed on by every provider", () => {
  for (const { id } of catalog) {
    // DashScope says so of its tokens per minute.
    test(id, () => check(id, id === 'dashscope' ? passedOn : [...passedOn, ...spent]));
  }
});

const ofModels: readonly Partial<UpstreamError>[] = [
  { message: "Unsupported parameter: 'seed' is not supported with this model.", code: 'unsupported_parameter' },
  { message: "Unsupported value: 'temperature' may only be 1.", code: 'unsupported_value' },
  { message: 'registry.ollama.ai/library/gemma:2b does not support tools' },
  { message: "This model doesn't support the stopSequences field. Remove it and try again." },
  { message: 'Image input modality is not enabled for models/gemma-3-1b-it' },
  { message: 'adaptive thinking is not supported on this model' },
  { message: 'Invalid content type. image_url is only supported by certain models.' },
  { message: 'm is not a multimodal model' },
  { message: 'No endpoints found that support tool use.' },
  { message: 'No such model/version combination found.' },
  { message: 'A voice with the voice_id x was not found.', code: 'voice_not_found' },
];
const ofRequests: readonly Partial<UpstreamError>[] = [
  { message: "Invalid value: 'max'. Supported values are: 'low' and 'high'.", code: 'invalid_value' },
  { message: 'temperature must be at most 2' },
  { message: "messages[0]: unknown role 'does not support'" },
];

test('what a model lacks is told from what is wrong with a request', () => {
  const found = (errors: typeof ofModels) => errors.map((error) => isOfModel({ message: '', code: '', ...error }));
  assert.deepEqual(
    found(ofModels),
    ofModels.map(() => true),
  );
  assert.deepEqual(
    found(ofRequests),
    ofRequests.map(() => false),
  );
});

describe('errors of one provider', () => {
  for (const [type, rows] of Object.entries(byProvider)) test(type, () => check(type, rows));
});
