import type { Principal } from '../../auth/principal.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { AnswerHead, CallerDialect, CallerDialectId, Result } from '../dialects/dialect.ts';
import { dialects } from '../dialects/dialect-table.ts';
import type { Alias } from '../models/alias.ts';
import { type ChargedAs, chargedAs } from '../models/charged-as.ts';
import type { Snapshot } from '../models/snapshot.ts';
import { noneCapable, noneUsable, oneSpeaks, orUse } from '../routing/capability.ts';
import type { RouteCandidate, RouteQuery } from '../routing/route.ts';
import type { Target } from '../routing/target.ts';
import { runToolLoop, type ToolLoop } from '../server-tools/tool-loop.ts';
import { headerSafe, type WrittenFor } from '../spine/answer.ts';
import type { Asked, Endpoint, Plan, Trials } from '../spine/endpoint.ts';
import type { Job } from '../spine/job.ts';
import type { ModelCall } from '../spine/model-call.ts';
import { runAttempts } from '../spine/run-attempts.ts';
import { withAbleModels } from './able-models.ts';
import { type AnswerIds, bindTo, keeperOf } from './bind-request.ts';
import { contentOf } from './content-of.ts';
import type { ConversationBody, ConversationFacts } from './conversation-body.ts';
import { type Conversation, conversationTrial } from './conversation-trial.ts';
import { callsOf, runChoices } from './fan-out.ts';
import { createRequestMedia, type RequestMedia } from './fetch-media.ts';
import { type FindUpload, isUpload, withUploads } from './inline-uploads.ts';
import { itemMissing } from './kept-items.ts';
import { RecordedSink } from './recorded-sink.ts';
import { namedElsewhere, runsToolsAt, type ToolsHere, toolsHere } from './server-tools.ts';
import type { ChatServices } from './services.ts';

/** Endpoint of conversations in the cost table and the ledger, and the prefix of its answers' ids. */
const idPrefixes = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;

export type ConversationEndpoint = keyof typeof idPrefixes;

/** Decisions on a conversation. */
export interface ChatPlan extends Plan {
  /** Tools that this gateway runs; absent: none. */
  tools?: ToolsHere;
  /** Of an answer that gives ids out: resolves when these are written. */
  unwritten?: AnswerIds['unwritten'] | undefined;
}

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
      const { tenant } = principal;
      const reading = services.bodies.read(tenant, raw, dialectId);
      const named = (read: Result<ConversationBody>) => {
        const { find } = services.uploads;
        const names = find !== null && read.ok && read.value.facts.named?.some(isUpload) === true;
        return names ? readWithUploads(services, find, principal, dialectId, raw, read.value) : read;
      };
      return reading instanceof Promise ? reading.then(named) : named(reading);
    },
    content: (raw) => raw,
    plan: (snapshot, call, { facts }) => planOf(services, snapshot, { ...call, dialect: dialectId }, facts),
    trials(asked, job) {
      const { unwritten } = asked.plan;
      const over = () => trialsOf(services, endpoint, dialects[dialectId], asked, job);
      return unwritten === undefined ? over() : recorded(services, job, unwritten, over);
    },
    traced: (raw, answer) => contentOf(dialectId, raw, answer),
  };
  return endpoint;
}

/** The body as if its sender had sent the files that it names. */
async function readWithUploads(
  { bodies, uploads }: ChatServices,
  find: FindUpload,
  { account, tenant }: Principal,
  dialectId: CallerDialectId,
  raw: Buffer,
  body: ConversationBody,
): Promise<Result<ConversationBody>> {
  const held = uploads.room.hold(account);
  let isHeld = false;
  try {
    const whole = await withUploads(find, { tenant, held }, dialectId, raw, body.facts.named ?? []);
    if (whole === null) return { ok: true, value: body };
    await body.release();
    if (!Buffer.isBuffer(whole)) return { ok: false, failure: whole };
    const read = await bodies.read(tenant, whole, dialectId);
    if (!read.ok) return read;
    isHeld = true;
    const { facts } = read.value;
    const release = () => {
      held.giveBack();
      return read.value.release();
    };
    return { ok: true, value: { facts, encode: (order) => read.value.encode(order), release } };
  } finally {
    if (!isHeld) held.giveBack();
  }
}

type ChatCall = ModelCall & { dialect: CallerDialectId };

function planOf(
  services: ChatServices,
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
): ChatPlan | Failure | Promise<ChatPlan | Failure> {
  const alias = aliasAsked(snapshot, facts.model, call.principal);
  if ('kind' in alias) return alias;
  const candidates = candidatesOf(snapshot, alias, facts.fallbackModels, call.principal);
  if ('kind' in candidates) return candidates;
  const { references } = facts;
  if (references !== undefined) {
    const missing = itemMissing(references, services.items.find(call.principal.tenant, references));
    if (missing !== null) return missing;
  }
  const charged = facts.fallbackModels.length === 0 ? alias : chargedAlias(services, snapshot, alias, call, facts);
  const among = { alias, charged, candidates };
  const tools = toolsHere(services.serverTools.ports, snapshot, call.dialect, facts, candidates);
  if (tools !== null && 'kind' in tools) return tools;
  if (tools !== null) return planWithTools(services, snapshot, call, facts, among, tools);
  const names = facts.named !== undefined || facts.answerGives !== undefined;
  return names ? planAround(services, snapshot, call, facts, among) : planOver(snapshot, call, facts, among);
}

/** Candidates when nothing binds the request. */
interface Among {
  alias: Alias;
  charged: ChargedAs;
  candidates: readonly RouteCandidate[];
}

/** The same where this gateway runs tools: the model is offered functions in their place. */
async function planWithTools(
  services: ChatServices,
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
  among: Among,
  tools: ToolsHere,
): Promise<ChatPlan | Failure> {
  const isWanted = tools.use === 'needed' || among.candidates.some(({ target }) => target.capabilities.tools);
  const offered = { ...facts.needs, tools: facts.needs.tools || isWanted };
  const asked: ConversationFacts = {
    ...facts,
    needs: offered,
    named: namedElsewhere(facts.named, tools),
    nativeOnly: facts.nativeFor === 'choice' && tools.choice !== null ? undefined : facts.nativeOnly,
  };
  const plan = await planAround(services, snapshot, call, asked, among);
  return 'kind' in plan ? plan : { ...plan, tools };
}

function planOver(
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
  { alias, charged, candidates }: Among,
): Plan | Failure {
  const others = () => snapshot.models.list(call.principal);
  if (facts.nativeOnly !== undefined && !oneSpeaks(call.dialect, candidates)) {
    if (facts.nativeFor === undefined) return facts.nativeOnly;
    return orUse(
      facts.nativeOnly,
      others().filter((other) => oneSpeaks(call.dialect, other.candidates)),
    );
  }
  const incapable = noneCapable(alias, candidates, facts.needs, others);
  if (incapable !== null) return incapable;
  const calls = facts.n === 1 ? 1 : callsOf(facts.n, candidates);
  const query = routeQueryOf(call, facts, alias, candidates);
  const plan: Plan = { alias, charged, calls, query, form: facts.stream ? 'events' : 'whole' };
  if (alias.id !== facts.model) plan.headers = ['x-culvert-unknown-model', headerSafe(facts.model.slice(0, 256))];
  return plan;
}

/** The same when named objects at a provider decide who may answer, or when the answer gives out ids for later. */
async function planAround(
  services: ChatServices,
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
  among: Among,
): Promise<ChatPlan | Failure> {
  const bound = facts.named && (await bindTo(services, snapshot, call, facts, among.candidates));
  if (bound && bound.kind !== 'bound') return bound;
  const plan = planOver(snapshot, call, facts, { ...among, candidates: bound?.candidates ?? among.candidates });
  if ('kind' in plan) return plan;
  const ids = facts.answerGives && (await keeperOf(services, call, facts));
  return { ...plan, bound: bound?.field, given: ids?.given, unwritten: ids?.unwritten };
}

function trialsOf(
  services: ChatServices,
  endpoint: ChatEndpoint,
  dialect: CallerDialect,
  { call, snapshot, request, plan }: Asked<ConversationBody, ChatPlan>,
  job: Job,
): Trials {
  const { tools } = plan;
  const { n, stream, includeUsage, echo, references, answerGives } = request.facts;
  const { tenant } = call.principal;
  const { quality, onFilter } = plan.alias;
  // Claude Code leaves thoughts out of its history where the answer's model is not the one that it asked.
  const namedAs = plan.alias.answerModel ?? (dialect.id === 'anthropic-messages' ? 'asked' : 'upstream');
  const answerModel = namedAs === 'asked' ? request.facts.model : undefined;
  const head: AnswerHead = {
    fallbackId: idPrefixes[endpoint.id as ConversationEndpoint] + call.requestId.slice(4),
    model: plan.alias.id,
    createdS: Math.floor(call.atMs / 1_000),
    includeUsage,
    answerModel,
    ...(echo !== undefined && { echo }),
  };
  let media: RequestMedia | null = null;
  const conversation: Conversation = {
    body: request,
    dialect: dialect.id,
    providers: snapshot.providers,
    child: null,
    ...((quality !== undefined || onFilter !== undefined) && checkOf(services, plan.alias, request.facts, tenant)),
    items: references && services.items.find(tenant, references),
    betas: betasIn(job.callerHeaders),
    answerModel,
    media(client = call.client) {
      media ??= createRequestMedia(services.media, {
        leftMs: () => job.deadlineMs - services.clock.monotonicMs(),
        onGone: (giveUp) => client.onGone(giveUp),
      });
      return media;
    },
  };
  // A function that is written where a member is assigned is old to V8 at once, with all of the request that it reaches.
  const remedy: Job['remedy'] = (failure) =>
    withAbleModels(failure, snapshot, { alias: plan.alias, principal: call.principal }, conversation);
  job.remedy = remedy;
  const keep: WrittenFor['keep'] = (items) => services.items.keep(tenant, items);
  const writtenFor: WrittenFor = { dialect, head, stream, ...(answerGives === 'all' && { keep }) };
  const trial: Trials['trial'] = (answer) => conversationTrial(services, job, conversation, answer, writtenFor);
  if (tools !== undefined && services.serverTools.ports !== null) {
    const loop: Omit<ToolLoop, 'job'> = {
      services,
      ports: services.serverTools.ports,
      endpoint,
      asked: tools,
      planned: { snapshot, call, plan, facts: request.facts },
      writtenFor,
      trialOf(job, turn) {
        const runsToolsFor = (target: Target) => runsToolsAt(snapshot.providers, dialect.id, tools, turn, target);
        const media = () => conversation.media(job.client);
        const asked: Conversation = { ...conversation, turn, runsToolsFor, media };
        return (answer) => conversationTrial(services, job, asked, answer, null);
      },
    };
    // Whoever keeps the answer stands before its sink by then.
    return { trial, run: () => runToolLoop({ ...loop, job }) };
  }
  if (n === 1) return { trial };
  return { trial, run: () => runChoices(services, job, trial, { conversation, dialect, head }) };
}

/** What its answer must pass before the caller sees it; nothing: it is the caller's as it comes. */
function checkOf(
  { schemas }: ChatServices,
  { quality, onFilter }: Alias,
  facts: ConversationFacts,
  tenant: string,
): Pick<Conversation, 'check'> {
  // Of several choices, one that fails a check says nothing of the others; a refusal of all of them does.
  const checked = facts.n === 1 ? quality : undefined;
  return checked === undefined && onFilter === undefined
    ? {}
    : { check: { quality: checked, onFilter, facts, schemas, tenant } };
}

const betasCharsMax = 2_048;

function betasIn({ 'anthropic-beta': betas }: Job['callerHeaders']): string | undefined {
  const text = Array.isArray(betas) ? betas.join(',') : betas;
  return text === undefined || text.length > betasCharsMax ? undefined : text;
}

/** The same where the answer gives ids out: it goes on as they are written. */
function recorded(
  services: ChatServices,
  job: Job,
  unwritten: NonNullable<ChatPlan['unwritten']>,
  trialsOver: () => Trials,
): Trials {
  const sink = new RecordedSink(job, unwritten);
  job.sink = sink;
  job.client = sink.client;
  const { trial, run } = trialsOver();
  return {
    trial,
    async run() {
      await (run === undefined ? runAttempts(services, job, trial) : run());
      await sink.finished;
    },
  };
}

/** The model that the caller named, or its replacement when nobody has it. */
export function aliasAsked(snapshot: Snapshot, model: string, principal: Principal): Alias | Failure {
  const found = snapshot.models.resolve(model, principal);
  return 'kind' in found && found.kind === 'model-unknown' ? (snapshot.models.standIn(principal) ?? found) : found;
}

/** Every target that may answer: the alias's own that chat, its fallbacks', then those of models the caller named. */
export function candidatesOf(
  snapshot: Snapshot,
  alias: Alias,
  fallbackModels: readonly string[],
  principal: Principal,
): readonly RouteCandidate[] | Failure {
  const own = alias.candidates.filter((candidate) => itChats(snapshot, candidate));
  if (alias.candidates.length === 0) return noneUsable(alias.id);
  if (own.length === 0) {
    return invalid('model', `The model '${alias.id}' is of type ${alias.type}, not chat. Use a chat model.`);
  }
  if (fallbackModels.length === 0) return own;
  const candidates = own;
  let rank = Math.max(...candidates.map((candidate) => candidate.rank));
  for (const model of fallbackModels) {
    if (model === alias.id) continue;
    const further = snapshot.models.resolveBeside(alias, model, principal);
    if ('kind' in further) return further;
    if (further.id === alias.id) continue;
    rank++;
    for (const { target } of further.candidates) if (itChats(snapshot, { target })) candidates.push({ target, rank });
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
    const found = models.resolveBeside(alias, model, principal);
    return 'kind' in found ? [] : [found];
  });
  return chargedAs([alias, ...further], plans().plan(principal.plan));
}

function itChats({ providers }: Snapshot, { target }: Pick<RouteCandidate, 'target'>): boolean {
  return providers.get(target.provider)?.connection.chats === true;
}

/** What this request asks of routing. `culvert explain` asks the same. */
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
    ...(alias.prefer !== undefined && { prefer: alias.prefer }),
    ...(alias.onFilter !== undefined && { onFilter: alias.onFilter }),
  };
}
