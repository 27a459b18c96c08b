import { bedrockConverse } from '../../../formats/dialects/bedrock-converse/index.ts';
import { type Failure, invalid } from '../../../kernel/failure.ts';
import type { Route } from '../../exchange.ts';
import { refuseCall } from '../../write-json.ts';
import { keyRoute } from '../key-route.ts';

/**
 * Jobs of Bedrock's control plane that call a model for each line of a file in S3. Nothing here reads the caller's
 * buckets, so each call is refused in Bedrock's format, and the message names the batches that do the same.
 */
export function invocationJobRoutes(): Route[] {
  const refused = (method: Route['method'], path: string, operation: string): Route =>
    keyRoute(`${method} ${path}`, method === 'POST' ? 'one' : 'free', {
      endpoint: 'invocation-jobs',
      dialect: bedrockConverse,
      summary: `Refuses AWS's ${operation}, and names the batches that do the same`,
      handle: (exchange) => void refuseCall(exchange, noJobs(operation)),
    });
  return [
    refused('POST', '/model-invocation-job', 'CreateModelInvocationJob'),
    refused('GET', '/model-invocation-jobs', 'ListModelInvocationJobs'),
    refused('GET', '/model-invocation-job/:jobIdentifier', 'GetModelInvocationJob'),
    refused('POST', '/model-invocation-job/:jobIdentifier/stop', 'StopModelInvocationJob'),
  ];
}

function noJobs(operation: string): Failure {
  const message = `${operation}: jobs over files in S3 are not here. Upload the lines to /v1/files and send a batch to /v1/batches or /v1/messages/batches, over any provider.`;
  // A 5xx would be repeated by AWS's clients.
  return invalid(null, message);
}
