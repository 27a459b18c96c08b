import type { Failure } from '../../kernel/failure.ts';
import { invalid } from '../../kernel/failure.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { affinityOf } from '../routing/affinity.ts';
import type { RouteCandidate, RouteQuery } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { type Answer, StreamedAnswer, WholeAnswer } from './answer.ts';
import { costHeaders } from './answer-headers.ts';
import { Attempt } from './attempt.ts';
import { noneCapable, noneUsable } from './capability.ts';
import type { ConversationBody, ConversationFacts, EncodedBody } from './conversation-body.ts';
import type { Job, PreparedBody } from './job.ts';
import { claimOf, jobOf, type ModelCall, runKeyed, settleCall } from './model-call.ts';
import type { Alias } from './model-table.ts';
import { PassedStream, PassedWhole, UnlikeAnswer } from './pass-through.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services, Snapshot } from './services.ts';
import { refuse } from './sink.ts';

/** One request to an endpoint of one format. */
export interface ForwardedCall extends ModelCall {
  endpoint: ForwardedEndpointId;
}

/**
 * The way of a request whose body goes on as it came, to whichever target of its model serves the endpoint; routed and
 * metered like a conversation. Ends the caller's answer in every case.
 */
export async function runForwarded(services: Services, call: ForwardedCall): Promise<void> {
  const reading = services.conversations.read(call.principal.tenant, call.body, call.endpoint);
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return refuse(call.sink, read.failure, call.admitted.headers);
  await runKeyed(services, call, read.value, (keyed, body) => runRead(services, keyed, body));
}

/** From the model on. */
async function runRead(services: Services, call: ForwardedCall, body: ConversationBody): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const { facts } = body;
  const alias = snapshot.models.resolve(facts.model, call.principal);
  if ('kind' in alias) return refused(alias);
  const candidates = servedBy(snapshot, alias, call.endpoint, facts.stream ? 'stream' : 'whole');
  if ('kind' in candidates) return refused(candidates);
  const incapable = noneCapable(alias.id, candidates, facts.needs);
  if (incapable !== null) return refused(incapable);

  const claim = claimOf(call, snapshot, alias, alias, facts);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  const query = queryOf(call, facts, alias, candidates);
  const job = jobOf(services, snapshot, call, facts, alias, query, reserved, {
    trial: (job, answer) => forwardTrial(services, job, body, call.endpoint, answer),
  });
  try {
    if (facts.stream) call.delivery.expect(costHeaders(job));
    await runAttempts(services, job);
  } finally {
    settleCall(services, call, claim, reserved, job);
  }
}

/**
 * The targets, those of fallbacks too, whose provider serves the endpoint; a 400 when none does. A stream is wanted of
 * those that stream: nothing here makes one of a whole answer.
 */
function servedBy(
  { providers }: Snapshot,
  alias: Alias,
  endpoint: ForwardedEndpointId,
  answer: 'stream' | 'whole',
): readonly RouteCandidate[] | Failure {
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const serving = alias.candidates.filter(({ target }) =>
    providers.get(target.provider)?.connection.forwardPaths.has(endpoint),
  );
  const able = answer === 'whole' ? serving : serving.filter(({ target }) => target.capabilities.streaming);
  if (able.length > 0) return able.map(({ target, rank }) => ({ target: asServing(target, endpoint), rank }));
  const { path } = forwardedEndpoints[endpoint];
  if (serving.length > 0) {
    return invalid('stream', `The model '${alias.id}' cannot stream its answers of ${path}. Leave 'stream' out.`);
  }
  return invalid('model', `No provider of the model '${alias.id}' serves ${path}. Use another model.`);
}

/**
 * The same target as this endpoint sees it: a model that is not there for it may well chat, so its health is its own.
 * Kept, since health knows targets again by identity.
 */
function asServing(target: Target, endpoint: ForwardedEndpointId): Target {
  let byEndpoint = served.get(target);
  if (byEndpoint === undefined) {
    byEndpoint = new Map();
    served.set(target, byEndpoint);
  }
  let seen = byEndpoint.get(endpoint);
  if (seen === undefined) {
    seen = { ...target, dialect: openAiChat.id, alsoSpeaks: [], healthId: `${target.id} (${endpoint})` };
    byEndpoint.set(endpoint, seen);
  }
  return seen;
}

const served = new WeakMap<Target, Map<ForwardedEndpointId, Target>>();

function queryOf(
  { wishes, principal }: ForwardedCall,
  { needs, conversationStart }: ConversationFacts,
  alias: Alias,
  targets: readonly RouteCandidate[],
): RouteQuery {
  const session = wishes.session ?? conversationStart;
  return {
    alias: alias.id,
    tenant: principal.tenant,
    targets,
    needs,
    affinity: session === '' ? null : affinityOf(principal.tenant, session),
    attemptsMax: alias.attempts,
    fallback: wishes.fallback,
    callerDialect: openAiChat.id,
    hedge: alias.hedge,
  };
}

function forwardTrial(
  services: Pick<Services, 'clock' | 'transport'>,
  job: Job,
  { encode, facts }: ConversationBody,
  endpoint: ForwardedEndpointId,
  answer: Answer,
): Attempt | Failure | Promise<Attempt | Failure> {
  const { target } = answer.attempt;
  const encoded = encode({
    provider: job.providers.get(target.provider)!.connection.provider.id,
    dialect: openAiChat.id,
    model: target.model,
    maxOutputTokens: target.maxOutputTokens,
    stream: false,
    body: target.body,
    child: null,
  });
  const made = (result: Awaited<typeof encoded>) => {
    if (!result.ok) return result.failure;
    const forwarded = result.value as EncodedBody;
    const sink = facts.stream ? new StreamedAnswer(answer, forwarded) : new WholeAnswer(answer, forwarded);
    return new Attempt(services, job, answer.attempt, bodyOf(forwarded, endpoint, facts), sink);
  };
  return encoded instanceof Promise ? encoded.then(made) : made(encoded);
}

function bodyOf(
  { bytes, streamed }: EncodedBody,
  endpoint: ForwardedEndpointId,
  { stream, includeUsage, needs }: ConversationFacts,
): PreparedBody {
  const { inputTokensEstimate } = needs;
  const format = forwardedEndpoints[endpoint];
  return {
    bytes,
    streamed,
    upstreamDialect: openAiChat,
    endpoint,
    inputTokensEstimate,
    reader(contentType) {
      const comesStreamed = contentType === '' ? streamed : contentType.startsWith('text/event-stream');
      if (comesStreamed !== stream) return new UnlikeAnswer(stream);
      return stream
        ? new PassedStream(format, includeUsage ? 'show' : 'hide', { inputTokensEstimate })
        : new PassedWhole(format, { inputTokensEstimate });
    },
  };
}
