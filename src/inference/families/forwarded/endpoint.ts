import type { Principal } from '../../../books/auth/principal.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import type { ForwardedEndpoint, ForwardedEndpointId } from '../../../formats/dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../../../formats/dialects/forwarded/index.ts';
import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { catalog } from '../../../formats/providers/catalog.ts';
import type { Provider } from '../../../formats/providers/provider.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { noneCapable, noneServes, noneUsable } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Alias } from '../../models/alias.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { type Answer, StreamedAnswer, WholeAnswer } from '../../spine/answer.ts';
import { UnlikeAnswer } from '../../spine/answer-reader.ts';
import { Attempt } from '../../spine/attempts/attempt.ts';
import type { EncodedBody } from '../../spine/encode-forwarded.ts';
import type { Endpoint, Plan } from '../../spine/endpoint.ts';
import type { Job, PreparedBody } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { PassedStream, PassedWhole } from '../../spine/pass-through.ts';
import { plainQuery, plainTarget } from '../../spine/plain-request.ts';
import { readableBody } from '../../spine/readable-input.ts';
import { type ForwardedBody, type ForwardedFacts, readForwarded } from './forwarded-body.ts';
import type { ForwardedServices } from './services.ts';

/** An endpoint of one format: its body goes on unchanged, to whichever target of its model serves it. */
export function forwardedEndpoint(
  services: ForwardedServices,
  id: ForwardedEndpointId,
): Endpoint<Buffer, ForwardedBody> {
  return {
    id,
    cost: forwardedEndpoints[id].cost,
    read({ principal }, raw) {
      const here = readForwarded(raw, id);
      return here === tooLargeForLoop ? services.bodies.readInThread(principal.tenant, raw, id) : here;
    },
    readable: (call, raw) => readableBody(services.bodies, call, raw, id, (body) => body),
    content: (raw) => raw,
    keeps: () => 'bytes',
    plan: (snapshot, call, { facts }) => forwardPlan(snapshot, call, id, facts),
    trials: ({ request }, job) => ({
      trial: (answer) => forwardTrial(services, job, request, forwardedEndpoints[id], answer),
    }),
  };
}

/** Candidates for such a request, and its price; a 404, 403 or 400 when there is none. */
export function forwardPlan(
  snapshot: Snapshot,
  { principal, preferences }: Pick<ModelCall, 'principal' | 'preferences'>,
  id: ForwardedEndpointId,
  facts: ForwardedFacts,
): Plan | Failure {
  const alias = snapshot.models.resolve(facts.model, principal);
  if (isFailure(alias)) {
    const why = alias.kind === 'model-unknown' ? nobodyServes(snapshot, id) : null;
    return why === null ? alias : { kind: 'not-found', message: why, param: 'model' };
  }
  const candidates = servedBy(snapshot, principal, alias, id, facts.stream ? 'stream' : 'whole');
  if (isFailure(candidates)) return candidates;
  const incapable = noneCapable(alias, candidates, facts.needs, () => snapshot.models.list(principal));
  if (incapable !== null) return incapable;
  const session = preferences.session ?? facts.conversationStart;
  const query = {
    ...plainQuery({ alias, candidates }, facts, preferences, principal.tenant),
    conversation: session === '' ? null : session,
  };
  return { alias, charged: alias, calls: 1, query, form: facts.stream ? 'events' : 'whole' };
}

/**
 * The targets, with those of fallbacks, whose provider serves the endpoint; a 400 when none does. A stream needs a
 * target that streams: nothing here makes one of a whole answer.
 */
function servedBy(
  snapshot: Snapshot,
  principal: Principal,
  alias: Alias,
  endpoint: ForwardedEndpointId,
  answer: 'stream' | 'whole',
): readonly RouteCandidate[] | Failure {
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const serves = ({ target }: RouteCandidate) =>
    snapshot.providers.get(target.provider)?.connection.forwardPaths.has(endpoint);
  const serving = alias.candidates.filter(serves);
  const able = answer === 'whole' ? serving : serving.filter(({ target }) => target.capabilities.streaming);
  if (able.length > 0) return able.map(({ target, rank }) => ({ target: plainTarget(target, endpoint), rank }));
  const { path } = forwardedEndpoints[endpoint];
  if (serving.length > 0) {
    return invalid('stream', `The model '${alias.id}' cannot stream answers of ${path}. Leave 'stream' out.`);
  }
  const why = nobodyServes(snapshot, endpoint);
  if (why !== null) return invalid('model', why);
  const others = snapshot.models.list(principal);
  const named = others.filter(({ type, candidates }) => type === typeServed[endpoint] && candidates.some(serves));
  return noneServes(alias, `serves ${path}`, named);
}

/** Types of models that a message may name: other types say nothing of whether they serve an endpoint. */
const typeServed: Readonly<Partial<Record<ForwardedEndpointId, string>>> = {
  completions: 'chat',
  fim: 'chat',
  rerank: 'rerank',
};

/** One attempt. `format`: of the answer, and what in it is a fault. */
export function forwardTrial(
  services: Pick<ForwardedServices, 'clock' | 'transport'>,
  job: Job,
  { encode, facts }: ForwardedBody,
  format: ForwardedEndpoint,
  answer: Answer,
): Attempt | Failure | Promise<Attempt | Failure> {
  const { target } = answer.attempt;
  const { provider } = knownEntry(job.providers, target.provider).connection;
  const encoded = encode({
    provider: provider.id,
    dialect: openAiChat.id,
    model: target.model,
    maxOutputTokens: target.maxOutputTokens,
    body: target.body,
    child: null,
  });
  const made = (forwarded: Awaited<typeof encoded>) => {
    if (isFailure(forwarded)) return forwarded;
    const sink = facts.stream ? new StreamedAnswer(answer, forwarded) : new WholeAnswer(answer, forwarded);
    return new Attempt(services, job, answer.attempt, bodyOf(forwarded, format, facts, provider), sink);
  };
  return encoded instanceof Promise ? encoded.then(made) : made(encoded);
}

function bodyOf(
  { bytes, streamed }: EncodedBody,
  format: ForwardedEndpoint,
  { stream, includeUsage, needs, answerShape = {} }: ForwardedFacts,
  { dialect, usageOf }: Provider,
): PreparedBody {
  const { inputTokensEstimate } = needs;
  return {
    bytes,
    streamed,
    upstreamDialect: dialects[dialect],
    endpoint: format.id,
    inputTokensEstimate,
    reader(contentType) {
      const comesStreamed = contentType === '' ? streamed : contentType.startsWith('text/event-stream');
      if (comesStreamed !== stream) return new UnlikeAnswer(stream);
      return stream
        ? new PassedStream(format, includeUsage ? 'show' : 'hide', { inputTokensEstimate, usageOf })
        : new PassedWhole(
            { readInPassing: (options) => format.readInPassing({ ...options, answerShape }) },
            {
              inputTokensEstimate,
              usageOf,
              shape: format.shape && ((given, input) => format.shape!(given, answerShape, input)),
            },
          );
    },
  };
}

/** Key that an operator may set for an endpoint that no provider here serves; null when one does. */
function nobodyServes({ providers }: Pick<Snapshot, 'providers'>, id: ForwardedEndpointId): string | null {
  for (const { simulated, connection } of providers.values())
    if (!simulated && connection.forwardPaths.has(id)) return null;
  const { path } = forwardedEndpoints[id];
  const keys = catalog.flatMap(({ envKey, forwards }) => (envKey !== null && forwards?.[id] ? [envKey] : []));
  const names = keys.length < 2 ? keys.join('') : `${keys.slice(0, -1).join(', ')} or ${keys.at(-1)}`;
  const remedy = keys.length === 0 ? 'Name' : `Set ${names} for the server, or name`;
  return `No provider of this gateway serves ${path}. ${remedy} such a provider in culvert.yaml, and restart it.`;
}
