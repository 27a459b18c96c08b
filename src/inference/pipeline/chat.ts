import type { Principal } from '../../auth/principal.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Admitted, Claim, Reservation } from '../../metering/admission.ts';
import type { Delivery } from '../../metering/charge.ts';
import { costMilliOf } from '../../metering/cost.ts';
import type { AnswerHead, DialectId } from '../dialects/dialect.ts';
import { chats } from '../providers/connection.ts';
import { affinityOf } from '../routing/affinity.ts';
import { createRoute } from '../routing/create-route.ts';
import type { RouteCandidate, RouteQuery, RouteRecord } from '../routing/route.ts';
import { costHeaders } from './answer-headers.ts';
import type { Caller } from './caller.ts';
import { noneCapable } from './capability.ts';
import { type ChargedAs, chargedAs } from './charged-as.ts';
import { runChoices } from './choices.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { foldSink, streamSink } from './converted.ts';
import { callerDialectOf } from './dialect-table.ts';
import { type Job, type JobProgress, newProgress } from './job.ts';
import type { Alias } from './model-table.ts';
import { prepareWith } from './prepare.ts';
import { createRequestMedia } from './request-media.ts';
import type { RoutingWishes } from './routing-wishes.ts';
import { runAttempts } from './run-attempts.ts';
import type { Services, Snapshot } from './services.ts';

/** Where conversations are held, as the table of costs and the ledger name it, and how ids of its answers begin. */
const idPrefixes = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;

export type ConversationEndpoint = keyof typeof idPrefixes;

/** One conversation request, its caller known and admitted, its body received. */
export interface ChatCall {
  requestId: string;
  clientRequestId: string | null;
  endpoint: ConversationEndpoint;
  dialect: DialectId;
  principal: Principal;
  admitted: Admitted;
  body: Buffer;
  caller: Caller;
  callerHeaders: Job['callerHeaders'];
  wishes: RoutingWishes;
  /** Of `Idempotency-Key`; a stream is run whatever it says. */
  idempotencyKey: string | null;
  /** Wall-clock and monotonic ms of arrival. */
  atMs: number;
  startedMs: number;
}

/**
 * The way of a conversation request from its body to its settlement, whatever dialect the caller speaks. Ends the
 * caller's answer in every case.
 */
export async function runChat(services: Services, call: ChatCall): Promise<void> {
  const reading = services.conversations.read(call.body, call.dialect);
  const read = reading instanceof Promise ? await reading : reading;
  if (!read.ok) return call.caller.refuse(read.failure, call.admitted.headers);
  const body = read.value;
  const { idempotencyKey: key, caller, endpoint, requestId } = call;
  try {
    if (key === null || body.facts.stream) await runRead(services, call, body);
    else {
      const { tenant } = call.principal;
      const keyed = { key, tenant, endpoint, requestId, body: call.body, caller, headers: call.admitted.headers };
      await services.idempotency.once(keyed, (patient) => runRead(services, { ...call, caller: patient }, body));
    }
  } finally {
    body.release();
  }
}

/** From the model on. */
async function runRead(services: Services, call: ChatCall, body: ConversationBody): Promise<void> {
  const snapshot = services.snapshot();
  const refuse = (failure: Failure) => call.caller.refuse(failure, call.admitted.headers);
  const { facts } = body;
  const alias = snapshot.models.resolve(facts.model, call.principal);
  if ('kind' in alias) return refuse(alias);
  const candidates = candidatesOf(snapshot, alias, facts.fallbackModels, call.principal);
  if ('kind' in candidates) return refuse(candidates);
  const charged = facts.fallbackModels.length === 0 ? alias : chargedAlias(services, snapshot, alias, call, facts);
  const incapable = noneCapable(alias.id, candidates, facts.needs);
  if (incapable !== null) return refuse(incapable);

  const claim: Claim = {
    requestId: call.requestId,
    principal: call.principal,
    admitted: call.admitted,
    endpoint: call.endpoint,
    alias: alias.id,
    tier: charged.tier,
    costMilli: costMilliOf(snapshot.config.costs, call.endpoint, charged.cost),
    inputTokensEstimate: facts.needs.inputTokensEstimate,
    atMs: call.atMs,
  };
  const reserved = await services.admission.reserve(claim);
  if (reserved.kind !== 'reserved') return refuse(reserved);

  const dialect = callerDialectOf(call.dialect);
  const head = headOf(call, alias, facts);
  const sink = () => (facts.stream ? streamSink(dialect.encodeStream(head)) : foldSink(dialect.fold(head)));
  const job = jobOf(services, snapshot, call, body, alias, candidates, reserved, sink);
  try {
    if (facts.stream) call.caller.expectStream(costHeaders(job));
    if (facts.n === 1) await runAttempts(services, job);
    else await runChoices(services, job, body, { dialect, head });
  } finally {
    settle(services, call, claim, reserved, job);
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
  if (alias.candidates.length === 0) {
    // Its providers are configured, and none could be made ready: the operator's to mend, not the caller's.
    const message = `No provider of the model '${alias.id}' can be used as it is configured; 'culvert check' says why.`;
    return { kind: 'no-target', model: alias.id, retryAfterMs: unusableRetryMs, message };
  }
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
  { plans }: Services,
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

const unusableRetryMs = 60_000;

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

function jobOf(
  services: Services,
  snapshot: Snapshot,
  call: ChatCall,
  body: ConversationBody,
  alias: Alias,
  candidates: readonly RouteCandidate[],
  reserved: Reservation,
  sink: Job['sink'],
): Job {
  const { facts } = body;
  const { wishes } = call;
  const query = routeQueryOf(call, facts, alias, candidates);
  const routeFor = (asked: RouteQuery) => {
    const { health, retryBudget, random, clock } = services;
    return createRoute(asked, { health, retryBudget, random, nowMs: clock.monotonicMs() });
  };
  const progress = newProgress();
  const deadlineMs = call.startedMs + Math.min(alias.totalMs, wishes.timeoutMs ?? Number.POSITIVE_INFINITY);
  const media = createRequestMedia(services.media, {
    leftMs: () => deadlineMs - services.clock.monotonicMs(),
    // Several choices share the caller, and what tells them of its leaving.
    onGone: (giveUp) => (facts.n === 1 ? call.caller.onGone(giveUp) : undefined),
  });
  return {
    requestId: call.requestId,
    alias: alias.id,
    user: facts.user,
    caller: call.caller,
    newRoute: () => routeFor(query),
    candidates,
    routeOver: (targets, n, attemptsMax) =>
      routeFor({
        ...query,
        targets,
        needs: { ...facts.needs, n },
        attemptsMax: Math.min(attemptsMax, alias.attempts),
      }),
    lastResort: null,
    stream: facts.stream,
    includeUsage: facts.includeUsage,
    inputTokensEstimate: facts.needs.inputTokensEstimate,
    deadlineMs,
    headers: reserved.headers,
    costMilli: reserved.costMilli,
    callerHeaders: call.callerHeaders,
    providers: snapshot.providers,
    prepare: prepareWith(body, snapshot.providers, null, call.dialect, media),
    media,
    sink,
    progress,
    attemptsMade: () => progress.attempts.length,
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
    targets: candidates,
    needs: facts.needs,
    affinity: affinityOf(call.principal.tenant, call.wishes.session ?? facts.conversationStart),
    attemptsMax: alias.attempts,
    fallback: call.wishes.fallback,
    callerDialect: call.dialect,
  };
}

/** Exactly once for every reservation, whatever way the request ended. */
function settle(services: Services, call: ChatCall, claim: Claim, reserved: Reservation, job: Job): void {
  const { progress, caller } = job;
  const aborted = caller.gone && progress.delivered !== 'whole';
  const target = progress.answeredBy?.target ?? null;
  const event = services.settlement.settle(reserved, {
    claim,
    clientRequestId: call.clientRequestId,
    delivery: deliveryOf(progress, aborted),
    status: aborted && !caller.committed ? 499 : progress.status,
    class: aborted ? 'aborted' : progress.class,
    stream: job.stream,
    aborted,
    ms: services.clock.monotonicMs() - call.startedMs,
    firstTokenMs: progress.firstTokenMs,
    target: target?.id ?? null,
    price: target?.price ?? null,
    usage: progress.usage,
    usageSource: progress.usageSource,
    user: job.user,
    route: {
      alias: job.alias,
      verdicts: progress.verdicts,
      attempts: progress.attempts,
      losses: progress.losses,
      passThrough: progress.passThrough,
      ...(progress.malformedLines > 0 ? { malformedLines: progress.malformedLines } : {}),
    } satisfies RouteRecord,
  });
  if (event !== null) services.finished(event);
}

function deliveryOf(progress: JobProgress, aborted: boolean): Delivery {
  if (progress.delivered === 'whole') return 'whole';
  if (progress.delivered === 'partial') return 'part';
  return aborted && progress.attempts.length > 0 ? 'abandoned' : 'nothing';
}
