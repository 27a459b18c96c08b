import { gatewayIdMark } from '../../../formats/dialects/openai-responses/wire.ts';
import { type Failure, FailureError } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { serve } from '../../spine/serve.ts';
import type { HeaderList } from '../../spine/sink.ts';
import type { ResponsesEndpoint } from './endpoint.ts';
import { inputItems } from './input-items.ts';
import type { ResponsesServices } from './services.ts';
import { saltOfId } from './stored-responses.ts';
import { compactionMark } from './summaries.ts';

const question =
  'Summarize this conversation so that it can go on without its text. Keep what the user wants, decisions, names, numbers, open questions, and results of tools that still matter. Write the summary alone.';

/**
 * Has the model of a request summarize the conversation that it holds or continues, and resolves to one item that
 * replaces it. Costs what that answer costs. Throws a FailureError when there is none.
 */
export async function compacted(
  services: ResponsesServices,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  body: JsonObject,
): Promise<{ answer: JsonObject; headers: HeaderList }> {
  const { model, instructions, previous_response_id, input } = body;
  const request: JsonObject = {
    model,
    ...(instructions !== undefined && { instructions }),
    ...(previous_response_id !== undefined && { previous_response_id }),
    input: [...inputItems(input), { type: 'message', role: 'user', content: question }],
    store: false,
  };
  const client = new BufferedAnswer();
  call.client.onDisconnect(() => client.leave());
  const summaryCall = { ...call, delivery: client, client, sink: client, idempotencyKey: null };
  await serve(services, endpoint, summaryCall, Buffer.from(JSON.stringify(request)));
  const { outcome } = client;
  if (outcome?.kind !== 'answered') throw new FailureError(outcome?.failure ?? { kind: 'internal' });
  const response = JSON.parse(outcome.body.toString('utf8')) as JsonObject;
  const summary = textOf(response.output);
  if (summary === '') throw new FailureError(noSummary);
  const salt = saltOfId(call.requestId);
  const answer = {
    id: `resp_${salt}`,
    object: 'response.compaction',
    created_at: Math.floor(call.atMs / 1_000),
    output: [
      {
        type: 'compaction',
        id: `cmp_${gatewayIdMark}${salt}`,
        encrypted_content: compactionMark + services.responses.sealText(call.principal.tenant, summary),
      },
    ],
    usage: response.usage,
  };
  return { answer, headers: outcome.headers };
}

const noSummary: Failure = { kind: 'overloaded', message: 'The model wrote no summary. Retry it.' };

function textOf(output: JsonValue | undefined): string {
  const items = (Array.isArray(output) ? output : []).filter(isObject);
  const parts = items.flatMap(({ content }) => (Array.isArray(content) ? content.filter(isObject) : []));
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}
