import type { Failure } from '../../kernel/failure.ts';
import { invalid } from '../../kernel/failure.ts';
import type { ForwardedEndpointId } from '../dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { openAiChat } from '../dialects/openai-chat/index.ts';
import { affinityOf } from '../routing/affinity.ts';
import type { RouteCandidate, RouteQuery } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { costHeaders } from './answer-headers.ts';
import { noneCapable, noneUsable } from './capability.ts';
import type { ConversationBody, ConversationFacts, EncodedBody } from './conversation-body.ts';
import type { Job } from './job.ts';
import { claimOf, jobOf, type ModelCall, runKeyed, settleCall } from './model-call.ts';
import type { Alias } from './model-table.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services, Snapshot } from './services.ts';

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
  if (!read.ok) return call.caller.refuse(read.failure, call.admitted.headers);
  await runKeyed(services, call, read.value, (keyed, body) => runRead(services, keyed, body));
}

/** From the model on. */
async function runRead(services: Services, call: ForwardedCall, body: ConversationBody): Promise<void> {
  const snapshot = services.snapshot();
  const refuse = (failure: Failure) => call.caller.refuse(failure, call.admitted.headers);
  const { facts } = body;
  const alias = snapshot.models.resolve(facts.model, call.principal);
  if ('kind' in alias) return refuse(alias);
  const candidates = servedBy(snapshot, alias, call.endpoint, facts.stream ? 'stream' : 'whole');
  if ('kind' in candidates) return refuse(candidates);
  const incapable = noneCapable(alias.id, candidates, facts.needs);
  if (incapable !== null) return refuse(incapable);

  const claim = claimOf(call, snapshot, alias, alias, facts);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refuse(reserved);

  const query = queryOf(call, facts, alias, candidates);
  const job = jobOf(services, snapshot, call, facts, alias, query, reserved, {
    prepare: () => forwardWith(body, call.endpoint, snapshot),
    sink: neverConverted,
  });
  try {
    if (facts.stream) call.caller.expectStream(costHeaders(job));
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

function forwardWith(body: ConversationBody, endpoint: ForwardedEndpointId, { providers }: Snapshot): Job['prepare'] {
  const forwarded = forwardedEndpoints[endpoint];
  return (target) => {
    const encoded = body.encode({
      provider: providers.get(target.provider)!.connection.provider.id,
      dialect: openAiChat.id,
      model: target.model,
      maxOutputTokens: target.maxOutputTokens,
      stream: false,
      body: target.body,
      child: null,
    });
    const prepared = (result: Awaited<typeof encoded>) =>
      result.ok ? { ...(result.value as EncodedBody), upstreamDialect: openAiChat, forwarded } : result.failure;
    return encoded instanceof Promise ? encoded.then(prepared) : prepared(encoded);
  };
}

function neverConverted(): never {
  throw new Error('an answer that is forwarded was converted');
}
