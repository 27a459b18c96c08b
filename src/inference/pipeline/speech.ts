import type { Failure } from '../../kernel/failure.ts';
import { tooLong } from '../dialects/speech/read-request.ts';
import { costHeaders } from './answer-headers.ts';
import type { ConversationBody } from './conversation-body.ts';
import { claimOf, jobOf, type ModelCall, runKeyed, settleCall } from './model-call.ts';
import { plainQuery } from './plain-request.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services } from './services.ts';
import { refuse } from './sink.ts';
import { type SpeechRun, speechTrial } from './speech-attempt.ts';
import { speechWay } from './speech-way.ts';

/** The way of a request for speech; routed and metered like a conversation. Ends the caller's answer in every case. */
export async function runSpeech(services: Services, call: ModelCall): Promise<void> {
  const reading = services.conversations.read(call.principal.tenant, call.body, 'speech');
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return refuse(call.sink, read.failure, call.admitted.headers);
  await runKeyed(services, call, read.value, (keyed, body) => runRead(services, keyed, body));
}

/** From the model on. */
async function runRead(services: Services, call: ModelCall, body: ConversationBody): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const request = body.facts.speech!;
  const wrong = tooLong(request, snapshot.config.limits.speech_chars);
  if (wrong !== null) return refused(wrong);
  const way = await speechWay(services, snapshot, request, call.principal);
  if ('kind' in way) return refused(way);
  const { alias, plans } = way;

  const claim = claimOf(call, snapshot, alias, alias, body.facts);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  const form = call.idempotencyKey === null || request.delivery === 'events' ? 'streamed' : 'whole';
  const run: SpeechRun = { request, plans, form };
  const query = plainQuery(way, body.facts, call.wishes, call.principal.tenant);
  const streamed = { ...body.facts, stream: form === 'streamed' };
  const job = jobOf(services, snapshot, call, streamed, alias, query, reserved, {
    trial: (job, answer) => speechTrial(services, job, run, answer),
  });
  try {
    // Comments keep a stream of events alive; among sound nothing else may stand.
    if (request.delivery === 'events') call.delivery.expect(costHeaders(job));
    await runAttempts(services, job);
  } finally {
    settleCall(services, call, claim, reserved, job);
  }
}
