import type { Principal } from '../../auth/principal.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { AnswerHead, CallerDialect, DialectId } from '../dialects/dialect.ts';
import { callerDialectOf } from '../dialects/dialect-table.ts';
import { type ChargedAs, chargedAs } from '../models/charged-as.ts';
import type { Alias } from '../models/model-table.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { chats } from '../providers/connection.ts';
import { noneCapable, noneUsable } from '../routing/capability.ts';
import type { RouteCandidate, RouteQuery } from '../routing/route.ts';
import { EncodedAnswer, foldWriter, streamWriter } from '../spine/encoded-answer.ts';
import type { Asked, Endpoint, Plan, Trials } from '../spine/endpoint.ts';
import type { Job } from '../spine/job.ts';
import type { ModelCall } from '../spine/model-call.ts';
import { bindTo, keeperOf } from './bind-request.ts';
import { callsOf, runChoices } from './choices.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { type Conversation, conversationTrial } from './conversation-trial.ts';
import { prepareWith } from './prepare.ts';
import { createRequestMedia } from './request-media.ts';
import type { ChatServices } from './services.ts';

/** Where conversations are held, as the table of costs and the ledger name it, and how ids of its answers begin. */
const idPrefixes = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;

export type ConversationEndpoint = keyof typeof idPrefixes;

export type ChatEndpoint = Endpoint<Buffer, ConversationBody>;

/** Conversations, in whatever dialect the caller speaks. */
export function chatEndpoint(services: ChatServices, id: ConversationEndpoint, dialectId: DialectId): ChatEndpoint {
  return {
    id,
    cost: id,
    read: ({ principal }, raw) => services.bodies.read(principal.tenant, raw, dialectId),
    content: (raw) => raw,
    plan: (snapshot, call, { facts }) => planOf(services, snapshot, { ...call, dialect: dialectId }, facts),
    trials: (asked, job) => trialsOf(services, callerDialectOf(dialectId), idPrefixes[id], asked, job),
  };
}

type ChatCall = ModelCall & { dialect: DialectId };

async function planOf(
  services: ChatServices,
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
): Promise<Plan | Failure> {
  const alias = snapshot.models.resolve(facts.model, call.principal);
  if ('kind' in alias) return alias;
  const able = candidatesOf(snapshot, alias, facts.fallbackModels, call.principal);
  if ('kind' in able) return able;
  const bound = facts.named && (await bindTo(services, snapshot, call, facts, able));
  if (bound && bound.kind !== 'bound') return bound;
  const candidates = bound?.candidates ?? able;
  const incapable = noneCapable(alias.id, candidates, facts.needs);
  if (incapable !== null) return incapable;
  return {
    alias,
    charged: facts.fallbackModels.length === 0 ? alias : chargedAlias(services, snapshot, alias, call, facts),
    calls: callsOf(facts.n, candidates),
    query: routeQueryOf(call, facts, alias, candidates),
    form: facts.stream ? 'events' : 'whole',
    bound: bound?.field,
    given: facts.answerGives && (await keeperOf(services, call, facts)),
  };
}

function trialsOf(
  services: ChatServices,
  dialect: CallerDialect,
  idPrefix: string,
  { call, snapshot, request, plan }: Asked<ConversationBody, Plan>,
  job: Job,
): Trials {
  const { facts } = request;
  const { stream, includeUsage } = facts;
  const head = headOf(call, idPrefix, plan.alias, facts);
  const media = createRequestMedia(services.media, {
    leftMs: () => job.deadlineMs - services.clock.monotonicMs(),
    // Several choices share the client, and what tells them of its leaving.
    onGone: (giveUp) => (facts.n === 1 ? call.client.onGone(giveUp) : undefined),
  });
  const conversation: Conversation = {
    facts: { stream, includeUsage, inputTokensEstimate: job.inputTokensEstimate },
    prepare: prepareWith(request, snapshot.providers, null, dialect.id, media),
  };
  const writer = () => (stream ? streamWriter(dialect.encodeStream(head)) : foldWriter(dialect.fold(head)));
  const trial: Trials['trial'] = (answer) =>
    conversationTrial(services, job, conversation, answer, (taker) => new EncodedAnswer(taker, writer));
  if (facts.n === 1) return { trial };
  return { trial, run: () => runChoices(services, job, { body: request, conversation, media, dialect, head }) };
}

/** Every target that may answer: the alias's own that chat, its fallbacks', then those of models the caller named. */
export function candidatesOf(
  snapshot: Snapshot,
  alias: Alias,
  fallbackModels: readonly string[],
  principal: Principal,
): readonly RouteCandidate[] | Failure {
  const own = alias.candidates.filter(({ target }) => providerChats(snapshot, target.provider));
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  if (own.length === 0) {
    return invalid('model', `The model '${alias.id}' does not chat (it is of type ${alias.type}).`);
  }
  if (fallbackModels.length === 0) return own;
  const candidates = own;
  let rank = Math.max(...candidates.map((candidate) => candidate.rank));
  for (const model of fallbackModels) {
    if (model === alias.id) continue;
    const further = snapshot.models.resolve(model, principal);
    if ('kind' in further) return further;
    rank++;
    for (const { target } of further.candidates)
      if (providerChats(snapshot, target.provider)) candidates.push({ target, rank });
  }
  return candidates;
}

function chargedAlias(
  { plans }: ChatServices,
  { models }: Snapshot,
  alias: Alias,
  { principal }: ChatCall,
  { fallbackModels }: ConversationFacts,
): ChargedAs {
  const further = fallbackModels.flatMap((model) => {
    const found = models.resolve(model, principal);
    return 'kind' in found ? [] : [found];
  });
  return chargedAs([alias, ...further], plans().plan(principal.plan));
}

function providerChats(snapshot: Snapshot, provider: string): boolean {
  const connection = snapshot.providers.get(provider)?.connection;
  return connection !== undefined && chats(connection);
}

function headOf(
  call: ModelCall,
  idPrefix: string,
  alias: Alias,
  { includeUsage, echo }: ConversationFacts,
): AnswerHead {
  return {
    fallbackId: idPrefix + call.requestId.slice(4),
    model: alias.id,
    createdS: Math.floor(call.atMs / 1_000),
    includeUsage,
    ...(echo !== undefined && { echo }),
  };
}

/** What routing is asked for this request; `culvert explain` asks the same. */
export function routeQueryOf(
  call: Pick<ChatCall, 'principal' | 'wishes' | 'dialect'>,
  facts: ConversationFacts,
  alias: Alias,
  candidates: readonly RouteCandidate[],
): RouteQuery {
  return {
    alias: alias.id,
    tenant: call.principal.tenant,
    targets: candidates,
    needs: facts.needs,
    conversation: call.wishes.session ?? facts.conversationStart,
    attemptsMax: alias.attempts,
    fallback: call.wishes.fallback,
    callerDialect: call.dialect,
    hedge: alias.hedge,
  };
}
