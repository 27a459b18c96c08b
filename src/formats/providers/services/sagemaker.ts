import { isObject, type JsonValue } from '../../../kernel/json.ts';
import { pathSegment } from '../../../kernel/web/uri-text.ts';
import { openAiLike } from '../openai-like.ts';
import type { DiscoveredModel } from '../provider.ts';
import { amazonDomain } from './bedrock.ts';

/**
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_runtime_InvokeEndpoint.html: endpoints of one's own whose
 * container speaks chat completions. The model of a target is the endpoint, so the body names none. A stream comes in
 * parts of server-sent events, inside frames of AWS's event stream.
 */
export const sagemaker = openAiLike({
  id: 'sagemaker',
  title: 'Amazon SageMaker',
  baseUrl: null,
  regional: {
    base: (region) => `https://runtime.sagemaker.${region}.${amazonDomain(region)}`,
    lists: (region) => `https://api.sagemaker.${region}.${amazonDomain(region)}`,
    service: 'sagemaker',
  },
  // It knows signatures alone.
  auth: 'none',
  streamType: 'application/vnd.amazon.eventstream',
  // Not every key may list: sagemaker:ListEndpoints.
  paths: { responses: null, messages: null, models: '/', mayRefuseModels: true },
  listRequest: {
    headers: ['content-type', 'application/x-amz-json-1.1', 'x-amz-target', 'SageMaker.ListEndpoints'],
    body: JSON.stringify({ MaxResults: 100, StatusEquals: 'InService', SortBy: 'Name', SortOrder: 'Ascending' }),
  },
  listModels,
  bodies: { 'openai-chat': { without: ['model'] } },
  errors: [
    { status: 400, code: /endpoint .{1,200} not found|could not find/i, class: 'model_unavailable' },
    // The container failed, or took too long.
    { status: 424, class: 'transient' },
  ],
  chatPath: (model, { answer }) =>
    `/endpoints/${pathSegment(model)}/invocations${answer === 'stream' ? '-response-stream' : ''}`,
});

const endpointName = /^[A-Za-z0-9](-*[A-Za-z0-9]){0,62}$/;

/**
 * https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ListEndpoints.html: nothing in it says what a container
 * speaks.
 */
function listModels(body: unknown): DiscoveredModel[] | null {
  if (!isObject(body) || !Array.isArray(body.Endpoints)) return null;
  return body.Endpoints.flatMap((row: JsonValue): DiscoveredModel[] => {
    const id = isObject(row) && row.EndpointStatus === 'InService' ? row.EndpointName : undefined;
    return typeof id === 'string' && endpointName.test(id) ? [{ id, type: 'chat' }] : [];
  });
}
