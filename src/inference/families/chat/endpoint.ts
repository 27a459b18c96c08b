import type { Principal } from '../../../books/auth/principal.ts';
import type { AnswerHead, CallerDialect, CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { dialects } from '../../../formats/dialects/dialect-table.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { dialectFor, type NamedModel, noneCapable, noneUsable, orUse, unmetNeed } from '../../../routing/capability.ts';
import type { RouteCandidate, RouteQuery } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import { chats } from '../../models/connections.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { EncodedAnswer, headerSafe, type WrittenFor } from '../../spine/answer.ts';
import type { Endpoint, Plan, PlannedRequest } from '../../spine/endpoint.ts';
import type { Job } from '../../spine/job.ts';
import { addableBody } from '../../spine/prompted.ts';
import { readableBody } from '../../spine/readable-input.ts';
import { stepsOver } from '../../spine/steps/steps-over.ts';
import { provenCandidates } from './callers-own.ts';
import { checksOf } from './checked-answer.ts';
import { contentOf } from './content-of.ts';
import { type ConversationBody, type ConversationFacts, readConversation } from './conversation-body.ts';
import { type Conversation, conversationTrial, prepareFor } from './conversation-trial.ts';
import { callsOf, runChoices } from './fan-out.ts';
import { createRequestMedia, nothingFetched, type RequestMedia } from './fetch-media.ts';
import { passedAnswers } from './passed-answers.ts';
import {
  answersAlone,
  type ChatCall,
  type ChatPlan,
  type PlainTrials,
  planWithExtras,
  trialsWithExtras,
  type UnboundPlan,
  withFiles,
} from './plan-extras.ts';
import type { ChatServices, PlanServices } from './services.ts';

/** Endpoint of conversations in the cost table and the ledger, and the prefix of its answers' ids. */
const idPrefixes = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;

export type ConversationEndpoint = keyof typeof idPrefixes;

export type ChatEndpoint = Endpoint<Buffer, ConversationBody, ChatPlan>;

/** Conversations, in whatever dialect the caller speaks. */
export function chatEndpoint(
  services: ChatServices,
  id: ConversationEndpoint,
  dialectId: CallerDialectId,
): ChatEndpoint {
  const endpoint: ChatEndpoint = {
    id,
    cost: id,
    read({ principal }, raw) {
      const reading = readConversation(raw, dialectId);
      if (reading === tooLargeForLoop) {
        return services.bodies
          .readInThread(principal.tenant, raw, dialectId)
          .then((read) => (isFailure(read) ? read : withFiles(services, principal, dialectId, raw, read)));
      }
      if (isFailure(reading) || reading.facts.extras === null) return reading;
      return withFiles(services, principal, dialectId, raw, reading);
    },
    filters: 'events',
    readable: (call, raw) => readableBody(services.bodies, call, raw, dialectId, (body) => body),
    addable: (call, raw) => addableBody(services.bodies, call, raw, dialectId),
    content: (raw) => raw,
    passed: passedAnswers(
      dialects[dialectId],
      (plan, facts) => answerModelOf(plan, facts, dialectId),
      idPrefixes[id],
      clientIn,
    ),
    keeps: ({ facts: { extras } }) => (extras === null || answersAlone(extras) ? 'events' : null),
    plan: (snapshot, { principal, preferences, variant, callerHeaders }, { facts }) =>
      planOf(services, snapshot, { principal, preferences, variant, callerHeaders, dialect: dialectId }, facts),
    trials(planned, job) {
      const plain = trialsOf(services, id, dialects[dialectId], planned, job);
      const { extras } = planned.plan;
      return extras === undefined ? plain.trials : trialsWithExtras(services, endpoint, planned, extras, job, plain);
    },
    traced: (raw, answer) => contentOf(dialectId, raw, answer),
  };
  return endpoint;
}

/**
 * Clients of vendors by their headers `user-agent` and `cache-control`: SDKs, the AI SDK's provider (`ai-sdk-…`, in older
 * versions `ai-sdk/…`), LangChain's class for Groq in Python (`langchain/…`), and that for Mistral, which makes up an id for
 * each piece of the first call. Only its reader of events (httpx-sse) tells it.
 */
const vendorsClients = [
  ['mistral', /^mistral-client-|^ai-sdk[-/]mistral\/|^python-httpx\/\S* no-store$/],
  ['groq', /^(Async)?Groq\/|^langchain\/|^ai-sdk[-/]groq\//],
  ['cerebras', /^(Async)?Cerebras\/|^ai-sdk[-/]cerebras\//],
  ['perplexity', /^(Async)?Perplexity\/|^ai-sdk[-/]perplexity\//],
  ['openrouter', /^speakeasy-sdk\/.*\bopenrouter\b|\bai-sdk[-/]openrouter\//],
  ['xai', /^ai-sdk[-/]xai\//],
] as const;

/** The vendor whose client sends these headers; undefined: any other client. */
function clientIn({ 'user-agent': agent, 'cache-control': caching }: Job['callerHeaders']): AnswerHead['clientOf'] {
  const text = `${agent} ${caching}`;
  for (const [vendor, agents] of vendorsClients) if (agents.test(text)) return vendor;
  return undefined;
}

/** Plans a conversation: the targets that may answer it, and for how much. `culvert explain` asks the same. */
export function planOf(
  services: PlanServices,
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
  use: UnboundPlan['use'] = 'call',
): ChatPlan | Failure | Promise<ChatPlan | Failure> {
  const alias = call.variant?.id === facts.model ? call.variant : requestedAlias(snapshot, facts.model, call.principal);
  if (isFailure(alias)) return alias;
  const candidates = candidatesOf(snapshot, alias);
  if (isFailure(candidates)) return candidates;
  const unbound: UnboundPlan = { alias, charged: alias, candidates, use };
  const { extras } = facts;
  if (extras === null) return planOver(snapshot, call, facts, unbound);
  return planWithExtras(services, snapshot, call, { ...facts, extras }, unbound, planOver);
}

/** Whether it is asked with its caller's own credential. */
function takesCallers({ target }: RouteCandidate): boolean {
  return target.credentials[0]?.callers === true;
}

function planOver(
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
  { alias, charged, candidates, use }: UnboundPlan,
): Plan | Failure {
  if (use === 'call' && snapshot.takesCallers && candidates.some(takesCallers)) {
    const proven = provenCandidates(snapshot, alias, candidates, call.callerHeaders ?? {});
    if (isFailure(proven)) return proven;
    if (proven.candidates.length < candidates.length) {
      const { candidates: left, barred } = proven;
      return planOver(snapshot, call, facts, { alias: { ...alias, barred }, charged, candidates: left, use });
    }
  }
  const incapable = noneCapable(alias, candidates, facts.needs, () => snapshot.models.list(call.principal));
  if (incapable !== null && use === 'call') return incapable;
  const calls = facts.n === 1 ? 1 : callsOf(facts.n, candidates);
  const query = routeQueryOf(call, facts, alias, candidates);
  const plan: Plan = { alias, charged, calls, query, form: facts.stream ? 'events' : 'whole' };
  if (alias.id !== facts.model) plan.headers = ['x-culvert-unknown-model', headerSafe(facts.model.slice(0, 256))];
  if (alias.variant !== undefined) plan.headers = [...(plan.headers ?? []), 'x-culvert-variant', alias.variant];
  return plan;
}

function trialsOf(
  services: ChatServices,
  endpoint: ConversationEndpoint,
  dialect: CallerDialect,
  { call, snapshot, request, plan }: PlannedRequest<ConversationBody, ChatPlan>,
  job: Job,
): PlainTrials {
  const { n, stream, includeUsage, echo } = request.facts;
  const { extras } = plan;
  const { quality, onFilter } = plan.alias;
  const { answerTexts, keeping, gate } = call;
  const checks =
    quality === undefined && onFilter === undefined
      ? null
      : checksOf(services.schemas, plan.alias, request.facts, call.principal.tenant);
  const answerModel = answerModelOf(plan, request.facts, dialect.id);
  let clientOf: AnswerHead['clientOf'];
  if (dialect.id === 'openai-chat') {
    clientOf = clientIn(job.callerHeaders);
    if (!stream && String(job.callerHeaders['user-agent']).startsWith('ai/')) clientOf ??= 'ai-sdk';
  }
  const head: AnswerHead = {
    fallbackId: idPrefixes[endpoint] + call.requestId.slice(4),
    model: plan.alias.id,
    createdS: Math.floor(call.atMs / 1_000),
    includeUsage: includeUsage || (stream && clientOf !== undefined),
    clientOf,
    answerModel,
    elapsedMs: () => services.clock.monotonicMs() - call.startedMs,
    ...(echo !== undefined && { echo }),
  };
  let media: RequestMedia | null = null;
  const isStepped = (answerTexts ?? gate) !== undefined || (keeping !== undefined && checks !== null);
  const conversation: Conversation = {
    body: request,
    dialect: dialect.id,
    providers: snapshot.providers,
    child: null,
    clientOf,
    after: isStepped ? stepsOver(checks, call) : checks,
    ...(!isStepped && keeping !== undefined && { keeping }),
    items: extras?.items,
    betas: job.callerHeaders['anthropic-beta'] === undefined ? undefined : betasIn(job.callerHeaders),
    answerModel,
    media(client = call.client) {
      media ??= createRequestMedia(services.media, services.uploads.room, {
        principal: call.principal,
        atEnd: (giveBack) => job.atEnd?.push(giveBack),
        leftMs: () => job.deadlineMs - services.clock.monotonicMs(),
        onDisconnect: (giveUp) => client.onDisconnect(giveUp),
      });
      return media;
    },
  };
  const writtenFor: WrittenFor = { dialect, head, stream, ...(extras?.keep !== undefined && { keep: extras.keep }) };
  const steps: PlainTrials['trials'] = {
    trial: (answer) => conversationTrial(services, job, conversation, answer, writtenFor),
    write: (last) => new EncodedAnswer(last, writtenFor),
    remedy: (failure) =>
      withAbleModels(failure, snapshot, { alias: plan.alias, principal: call.principal }, conversation),
  };
  if (n === 1) return { conversation, writtenFor, trials: steps };
  const run = () => runChoices(services, job, steps, { conversation, dialect, head, remedy: steps.remedy });
  return { conversation, writtenFor, trials: { ...steps, run } };
}

/** The name that an answer gives its model; undefined: the provider's own. */
function answerModelOf({ alias }: Plan, { model }: ConversationFacts, dialect: CallerDialectId): string | undefined {
  // Claude Code leaves thoughts out of its history where the answer's model is not the one that it asked.
  const namedAs = alias.answerModel ?? (dialect === 'anthropic-messages' ? 'asked' : 'upstream');
  return namedAs === 'asked' ? model : undefined;
}

const betasCharsMax = 2_048;

function betasIn({ 'anthropic-beta': betas }: Job['callerHeaders']): string | undefined {
  const text = Array.isArray(betas) ? betas.join(',') : betas;
  return text === undefined || text.length > betasCharsMax ? undefined : text;
}

/** The model that the caller named, or its replacement when nobody has it. */
export function requestedAlias(snapshot: Snapshot, model: string, principal: Principal): Alias | Failure {
  const found = snapshot.models.resolve(model, principal);
  return isFailure(found) && found.kind === 'model-unknown' ? (snapshot.models.standIn(principal) ?? found) : found;
}

/** The targets of an alias that chat, which are the same for all of its requests. */
const chatting = new WeakMap<Alias, readonly RouteCandidate[]>();

/** The alias's targets that may answer: its own and those of its fallbacks. */
export function candidatesOf({ providers }: Snapshot, alias: Alias): readonly RouteCandidate[] | Failure {
  let candidates = chatting.get(alias);
  if (candidates === undefined) {
    candidates = alias.candidates.filter(({ target }) => chats(providers, target));
    chatting.set(alias, candidates);
  }
  if (candidates.length > 0) return candidates;
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  const why = alias.type === 'chat' ? 'has no provider that can chat' : `is of type ${alias.type}, not chat`;
  return invalid('model', `The model '${alias.id}' ${why}. Use a chat model.`);
}

/** The request's facts that routing needs. */
function routeQueryOf(
  call: Pick<ChatCall, 'principal' | 'preferences' | 'dialect'>,
  facts: ConversationFacts,
  alias: Alias,
  candidates: readonly RouteCandidate[],
): RouteQuery {
  return {
    alias: alias.id,
    tenant: call.principal.tenant,
    targets: candidates,
    needs: facts.needs,
    conversation: call.preferences.session ?? facts.conversationStart,
    attemptsMax: alias.attempts,
    fallback: call.preferences.fallback,
    callerDialect: call.dialect,
    hedge: alias.hedge,
    ...(alias.barred !== undefined && { barred: alias.barred }),
    ...(alias.promptCache !== undefined && { staysWarm: true }),
    ...(alias.prefer !== undefined && { prefer: alias.prefer }),
    ...(alias.onFilter !== undefined && { onFilter: alias.onFilter }),
  };
}

/** Formats of providers that are tried: the conversions of one format refuse alike. */
const triedMax = 8;

/**
 * The refusal of every converter, with the models of this caller that the same body could be sent to. Nothing is sent:
 * a request that nobody can answer has time for this.
 */
async function withAbleModels(
  failure: Failure,
  { models, providers }: Snapshot,
  { alias, principal }: { alias: Pick<NamedModel, 'id' | 'type'>; principal: Principal },
  conversation: Conversation,
): Promise<Failure> {
  if (failure.kind !== 'invalid-request') return failure;
  const { needs } = conversation.body.facts;
  const asking: Conversation = { ...conversation, media: () => nothingFetched };
  const known = new Map<string, boolean>();
  const canEncode = async (target: Target): Promise<boolean> => {
    const place = `${providers.get(target.provider)?.connection.provider.id} ${dialectFor(target, conversation.dialect)}`;
    const before = known.get(place);
    if (before !== undefined) return before;
    const can = known.size < triedMax && !isFailure(await prepareFor(target, asking));
    known.set(place, can);
    return can;
  };
  const able: NamedModel[] = [];
  for (const other of models.list(principal)) {
    if (other.id === alias.id || other.type !== alias.type) continue;
    const [target] = other.candidates.filter((one) => unmetNeed(one.target, needs) === null).map((one) => one.target);
    if (target !== undefined && (await canEncode(target))) able.push(other);
  }
  return orUse(failure, able);
}
