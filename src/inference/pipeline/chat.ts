import type { Principal } from '../../auth/principal.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { AnswerHead, DialectId } from '../dialects/dialect.ts';
import { chats } from '../providers/connection.ts';
import { affinityOf } from '../routing/affinity.ts';
import type { RouteCandidate, RouteQuery } from '../routing/route.ts';
import { costHeaders } from './answer-headers.ts';
import { noneCapable, noneUsable } from './capability.ts';
import { type ChargedAs, chargedAs } from './charged-as.ts';
import { callsOf, runChoices } from './choices.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { type Conversation, conversationTrial } from './conversation-trial.ts';
import { callerDialectOf } from './dialect-table.ts';
import { EncodedAnswer, foldWriter, streamWriter } from './encoded-answer.ts';
import { claimOf, jobOf, type ModelCall, runKeyed, settleCall } from './model-call.ts';
import type { Alias } from './model-table.ts';
import { prepareWith } from './prepare.ts';
import { createRequestMedia } from './request-media.ts';
import { runAttempts } from './run-attempts.ts';
import type { ConversationServices, Snapshot } from './services.ts';
import { refuse } from './sink.ts';

/** Where conversations are held, as the table of costs and the ledger name it, and how ids of its answers begin. */
const idPrefixes = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;

export type ConversationEndpoint = keyof typeof idPrefixes;

/** One conversation request. */
export interface ChatCall extends ModelCall {
  endpoint: ConversationEndpoint;
  dialect: DialectId;
}

/**
 * The way of a conversation request from its body to its settlement, whatever dialect the caller speaks. Ends the
 * caller's answer in every case.
 */
export async function runChat(services: ConversationServices, call: ChatCall): Promise<void> {
  const reading = services.conversations.read(call.principal.tenant, call.body, call.dialect);
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return refuse(call.sink, read.failure, call.admitted.headers);
  await runKeyed(services, call, read.value, (keyed, body) => runRead(services, keyed, body));
}

/** Loaded when it is needed first: most chat requests neither name nor give what lives at a provider. */
const bindRequest = () => import('./bind-request.ts');

/** From the model on. */
async function runRead(services: ConversationServices, call: ChatCall, body: ConversationBody): Promise<void> {
  const snapshot = services.snapshot();
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  const { facts } = body;
  const alias = snapshot.models.resolve(facts.model, call.principal);
  if ('kind' in alias) return refused(alias);
  const able = candidatesOf(snapshot, alias, facts.fallbackModels, call.principal);
  if ('kind' in able) return refused(able);
  const bound = facts.named && (await (await bindRequest()).bindTo(services, snapshot, call, facts, able));
  if (bound && bound.kind !== 'bound') return refused(bound);
  const candidates = bound?.candidates ?? able;
  const charged = facts.fallbackModels.length === 0 ? alias : chargedAlias(services, snapshot, alias, call, facts);
  const incapable = noneCapable(alias.id, candidates, facts.needs);
  if (incapable !== null) return refused(incapable);

  const given = facts.answerGives && (await (await bindRequest()).keeperOf(services, call, facts));
  const calls = callsOf(facts.n, candidates);
  const claim = claimOf(call, snapshot, alias, charged, facts, calls);
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refused(reserved);

  const dialect = callerDialectOf(call.dialect);
  const head = headOf(call, alias, facts);
  const writer = () => (facts.stream ? streamWriter(dialect.encodeStream(head)) : foldWriter(dialect.fold(head)));
  const query = routeQueryOf(call, facts, alias, candidates);
  const job = jobOf(services, snapshot, call, facts, alias, query, reserved, {
    trial: (job, answer) =>
      conversationTrial(services, job, conversation, answer, (taker) => new EncodedAnswer(taker, writer)),
    bound: bound?.field ?? null,
    given,
  });
  const media = createRequestMedia(services.media, {
    leftMs: () => job.deadlineMs - services.clock.monotonicMs(),
    // Several choices share the client, and what tells them of its leaving.
    onGone: (giveUp) => (facts.n === 1 ? call.client.onGone(giveUp) : undefined),
  });
  const { includeUsage, stream } = facts;
  const conversation: Conversation = {
    facts: { stream, includeUsage, inputTokensEstimate: facts.needs.inputTokensEstimate },
    prepare: prepareWith(body, snapshot.providers, null, call.dialect, media),
  };
  try {
    if (facts.stream) call.delivery.expect(costHeaders(job));
    if (facts.n === 1) await runAttempts(services, job);
    else await runChoices(services, job, { body, conversation, media, dialect, head });
  } finally {
    const doneMilli = (reserved.costMilli / calls) * job.progress.calls;
    settleCall(services, call, claim, reserved, calls === 1 ? job : { ...job, doneMilli });
  }
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
  { plans }: ConversationServices,
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

function headOf(call: ChatCall, alias: Alias, { includeUsage, echo }: ConversationFacts): AnswerHead {
  return {
    fallbackId: idPrefixes[call.endpoint] + call.requestId.slice(4),
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
    affinity: affinityOf(call.principal.tenant, call.wishes.session ?? facts.conversationStart),
    attemptsMax: alias.attempts,
    fallback: call.wishes.fallback,
    callerDialect: call.dialect,
    hedge: alias.hedge,
  };
}
