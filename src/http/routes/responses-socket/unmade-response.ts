import { responseObject } from '../../../formats/dialects/openai-responses/response-object.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { ResponsesEndpoint } from '../../../inference/families/responses/endpoint.ts';
import type { ModelCall } from '../../../inference/spine/model-call.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { isFailure } from '../../../kernel/failure.ts';
import type { TurnDelivery } from './turn-delivery.ts';

/**
 * A response that nobody makes (`generate: false`), by which clients send a conversation before they ask: it is checked
 * and answered without output, asks no provider and costs nothing.
 */
export async function unmadeResponse(
  services: Services,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  raw: Buffer,
  turn: TurnDelivery,
): Promise<void> {
  const read = await endpoint.read(call, raw);
  if (isFailure(read)) return refuse(turn, read, call.admitted.headers);
  const plan = await endpoint.plan(services.snapshots.current, call, read);
  await read.release();
  if (isFailure(plan)) return refuse(turn, plan, call.admitted.headers);
  const facts = {
    id: `resp_${call.requestId.slice(4)}`,
    createdS: Math.floor(call.atMs / 1_000),
    model: plan.alias.id,
    echo: read.facts.echo,
    output: [],
    usage: null,
  };
  turn.start('events', []);
  for (const [at, [type, status]] of steps.entries()) {
    const event = { type, sequence_number: at, response: responseObject(facts, { status }) };
    turn.chunk(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  turn.end(null);
}

const steps = [
  ['response.created', 'in_progress'],
  ['response.completed', 'completed'],
] as const;
