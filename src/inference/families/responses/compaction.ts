import { responseObject } from '../../../formats/dialects/openai-responses/response-object.ts';
import { gatewayIdMark } from '../../../formats/dialects/openai-responses/wire.ts';
import { type Failure, FailureError, failureIn, isFailure } from '../../../kernel/failure.ts';
import { type JsonObject, type JsonValue, objectsIn } from '../../../kernel/json.ts';
import { BufferedAnswer } from '../../spine/buffered-answer.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { serve } from '../../spine/serve.ts';
import { type HeaderList, refuse, sendWhole } from '../../spine/sink.ts';
import { keep, oneKeeps, type ResponsesEndpoint } from './endpoint.ts';
import { continuedBy, expanded } from './expand.ts';
import { inputItems } from './input-items.ts';
import { keepsFor } from './keeps-for.ts';
import type { ResponsesServices } from './services.ts';
import { saltOfId } from './stored-responses.ts';
import { compactionMark } from './summaries.ts';

const question =
  'Summarize this conversation so that it can go on without its text. Keep what the user wants, decisions, names, numbers, open questions, and results of tools that still matter. Write the summary alone.';

interface Compaction {
  id: string;
  object: 'response.compaction';
  created_at: number;
  output: JsonObject[];
  usage: JsonValue | undefined;
}

/**
 * Has the model of a request summarize the conversation that it holds or continues, and resolves to one item that
 * replaces it. Costs what that answer costs. Throws a FailureError when there is none.
 */
export async function compacted(
  services: ResponsesServices,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  body: JsonObject,
): Promise<{ answer: Compaction; headers: HeaderList }> {
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
  const answer: Compaction = {
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

/** Type of the last input item of a request for `POST /v1/responses` that wants a compaction for its answer. */
export const compactionTrigger = 'compaction_trigger';

/**
 * Answers such a request, as Codex sends it, with a compaction of ours. False: it is none, or goes to a provider that
 * makes its own.
 */
export async function answeredTrigger(
  services: ResponsesServices,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  raw: Buffer,
): Promise<boolean> {
  if (!raw.includes(compactionTrigger)) return false;
  const object = await services.bodies.readObject(call.principal.tenant, raw);
  if (isFailure(object)) return false;
  const { body } = object;
  const items = inputItems(body.input);
  if (items.pop()?.type !== compactionTrigger) return false;
  const { current } = services.snapshots;
  const read = await endpoint.read(call, raw);
  if (isFailure(read)) return false;
  const plan = await endpoint.plan(current, call, read);
  await read.release();
  if (isFailure(plan) || oneKeeps(plan.query.targets, current.providers)) return false;
  const alone = Buffer.from(JSON.stringify({ ...body, input: items }));
  const { body_limit: bytesMax } = current.config.server;
  const named = continuedBy(body);
  const { conversation } = named;
  const whole =
    conversation === null ? alone : await expanded(services.responses, call.principal.tenant, alone, named, bytesMax);
  // The usual way refuses what is not there.
  if (whole === null) return false;
  const isStream = body.stream === true;
  try {
    if (isFailure(whole)) throw new FailureError(whole);
    if (isStream) call.delivery.expect(call.admitted.headers);
    const { answer, headers } = await compacted(services, endpoint, call, JSON.parse(whole.toString()) as JsonObject);
    const { id, created_at: createdS, output, usage } = answer;
    const head = { id, createdS, model: plan.alias.id, echo: read.facts.echo, usage: null };
    const made = { ...responseObject({ ...head, output }, { status: 'completed' }), usage };
    const response = await storedResponse(services, call, { ...body, conversation }, made as JsonObject);
    if (!isStream) sendWhole(call.sink, headers, JSON.stringify(response));
    else {
      const begun = responseObject({ ...head, output: [] }, { status: 'in_progress' });
      const done = { output_index: 0, item: output[0] };
      const events = { created: { response: begun }, 'output_item.added': done, 'output_item.done': done };
      call.sink.start('events', headers);
      for (const [at, [name, members]] of Object.entries({ ...events, completed: { response } }).entries()) {
        const type = `response.${name}`;
        call.sink.chunk(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...members })}\n\n`);
      }
      call.sink.end(null);
    }
  } catch (error) {
    refuse(call.sink, failureIn(error), call.admitted.headers);
  }
  return true;
}

/** It replaces all before it: what continues it begins with its compaction. */
const replacing = { raw: Buffer.from('{}'), previous: null };

/** The response as its caller gets it, kept where its request wants that. */
async function storedResponse(
  services: ResponsesServices,
  call: ModelCall,
  { store: given, previous_response_id: previous = null, conversation: id }: JsonObject,
  response: JsonObject,
): Promise<JsonObject> {
  const { snapshots, storage } = services;
  const conversation = typeof id === 'string' ? id : null;
  const shown = { ...response, previous_response_id: previous, ...(conversation !== null && { conversation: { id } }) };
  const store = given !== false;
  const mayKeep = (store || conversation !== null) && keepsFor(snapshots.current, call.principal);
  if (!mayKeep || (await storage.mayKeep(call.principal.account)) !== null) return { ...shown, store: false };
  const stored: JsonObject = { ...shown, store };
  const isStored = await keep(services, call, { ...replacing, store, conversation }, stored);
  return { ...stored, store: store && isStored };
}

const noSummary: Failure = { kind: 'overloaded', message: 'The model wrote no summary. Retry it.' };

function textOf(output: JsonValue | undefined): string {
  const items = objectsIn(output);
  const parts = items.flatMap(({ content }) => objectsIn(content));
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
}
