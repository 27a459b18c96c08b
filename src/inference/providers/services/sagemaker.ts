import { openAiLike } from '../openai-like.ts';
import { pathSegment } from '../path-segment.ts';
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
  paths: { responses: null, messages: null, models: null },
  bodies: { 'openai-chat': { without: ['model'], with: {} } },
  errors: [
    { status: 400, code: /endpoint .{1,200} not found|could not find/i, class: 'model_unavailable' },
    // The container failed, or took too long.
    { status: 424, class: 'transient' },
  ],
  chatPath: (model, { answer }) =>
    `/endpoints/${pathSegment(model)}/invocations${answer === 'stream' ? '-response-stream' : ''}`,
});
