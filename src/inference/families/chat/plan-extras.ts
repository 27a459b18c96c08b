import type { Principal } from '../../../books/auth/principal.ts';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { tooLargeForLoop } from '../../../kernel/parse-object.ts';
import { oneSpeaks, orUse } from '../../../routing/capability.ts';
import type { RouteCandidate } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Alias } from '../../models/alias.ts';
import { type ChargedAs, chargedAs } from '../../models/charged-as.ts';
import { chats } from '../../models/connections.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import { runToolLoop, type ToolLoop } from '../../server-tools/tool-loop.ts';
import type { WrittenFor } from '../../spine/answer.ts';
import { runAttempts } from '../../spine/attempts/run-attempts.ts';
import type { Endpoint, Plan, PlannedRequest, Trials } from '../../spine/endpoint.ts';
import type { Job } from '../../spine/job.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { RequestBody } from '../../spine/request-body.ts';
import { type AnswerIds, bindTo, keeperOf } from './bind-request.ts';
import {
  type ConversationBody,
  type ConversationExtras,
  type ConversationFacts,
  readConversation,
} from './conversation-body.ts';
import { type Conversation, conversationTrial } from './conversation-trial.ts';
import { isUpload, withUploads } from './inline-uploads.ts';
import { itemMissing } from './item-memory.ts';
import { RecordedSink } from './recorded-sink.ts';
import { namedElsewhere, type ToolsHere, toolsHere, turnAt } from './server-tools.ts';
import type { ChatServices, PlanServices } from './services.ts';

/* Features that few requests use. A request without them enters nothing of this file. */

/** Decisions on the extras of a conversation. */
export interface PlannedExtras extends Partial<Pick<WrittenFor, 'keep'>> {
  /** Tools that this gateway runs; null: none. */
  tools: ToolsHere | null;
  /** Items that it names, by id. */
  items: Conversation['items'];
  /** For an answer that gives ids out: resolves when these are written; null: it gives none. */
  unwritten: AnswerIds['unwritten'] | null;
}

/** Decisions on a conversation. */
export interface ChatPlan extends Plan {
  /** Absent: it has none. */
  extras?: PlannedExtras;
}

/** A request that is planned, and the format of its caller. */
/** `variant`: counts unless a step has named another model since. */
export type ChatCall = Pick<ModelCall, 'principal' | 'preferences' | 'variant'> &
  Partial<Pick<ModelCall, 'callerHeaders'>> & { dialect: CallerDialectId };

/** Candidates when nothing binds the request. */
export interface UnboundPlan {
  alias: Alias;
  charged: ChargedAs;
  candidates: readonly RouteCandidate[];
  /** `explain`: that no candidate can do it is no failure, since the explanation says what each lacks. */
  use: 'call' | 'explain';
}

/** The plan of a conversation without extras. */
export type PlanOver = (
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts,
  unbound: UnboundPlan,
) => Plan | Failure;

/** Whether body and plan alone say what the answer depends on: nothing that was kept, no tool that runs. */
export function answersAlone(extras: ConversationExtras): boolean {
  const { answerGives, nativeFor, fallbackModels, named, ...others } = extras;
  const isPlain = named.length === 0 && answerGives !== 'all';
  return isPlain && Object.values(others).every((one) => one === null);
}

/** A read body as if its sender had sent the files that it names. */
export async function withFiles(
  { bodies, uploads }: Pick<ChatServices, 'bodies' | 'uploads'>,
  { account, tenant }: Principal,
  dialectId: CallerDialectId,
  raw: Buffer,
  body: ConversationBody,
): Promise<ConversationBody | Failure> {
  const { find } = uploads;
  const named = body.facts.extras?.named ?? [];
  if (find === null || !named.some(isUpload)) return body;
  const held = uploads.room.hold(account);
  let isHeld = false;
  try {
    const whole = await withUploads(find, { tenant, held }, dialectId, raw, named);
    if (whole === null) return body;
    await body.release();
    if (!Buffer.isBuffer(whole)) return whole;
    const here = readConversation(whole, dialectId);
    const read = here === tooLargeForLoop ? await bodies.readInThread(tenant, whole, dialectId) : here;
    if (isFailure(read)) return read;
    isHeld = true;
    const { facts } = read;
    const release = () => {
      held.giveBack();
      return read.release();
    };
    return { facts, encode: (order) => read.encode(order), release };
  } finally {
    if (!isHeld) held.giveBack();
  }
}

/** The plan of a conversation with extras: `planOver` what they leave of its candidates. */
export async function planWithExtras(
  services: PlanServices,
  snapshot: Snapshot,
  call: ChatCall,
  facts: ConversationFacts & { extras: ConversationExtras },
  { alias, ...unbound }: UnboundPlan,
  planOver: PlanOver,
): Promise<ChatPlan | Failure> {
  const { fallbackModels, references } = facts.extras;
  const candidates = withFallbacks(snapshot, alias, unbound.candidates, fallbackModels, call.principal);
  if (isFailure(candidates)) return candidates;
  const items = references === null ? undefined : await services.items.find(call.principal.tenant, references);
  if (references !== null && items !== undefined) {
    const missing = itemMissing(references, items);
    if (missing !== null) return missing;
  }
  const charged =
    fallbackModels.length === 0 ? unbound.charged : chargedForAll(services, snapshot, alias, call, fallbackModels);
  const { ports } = services.serverTools;
  const { serverTools } = facts.extras;
  const tools =
    serverTools === null ? null : toolsHere(ports, snapshot, call.dialect, { serverTools, n: facts.n }, candidates);
  if (isFailure(tools)) return tools;
  const withTools = tools === null ? facts : offering(tools, facts, candidates);
  const { extras } = withTools;
  const bound = extras.named.length > 0 ? await bindTo(services, snapshot, call, withTools, candidates) : null;
  if (bound !== null && bound.kind !== 'bound') return bound;
  const reachable = { ...unbound, alias, charged, candidates: bound?.candidates ?? candidates };
  const unspoken = unspokenBy(snapshot, call, extras, reachable.candidates);
  if (unspoken !== null) return unspoken;
  const plan = planOver(snapshot, call, withTools, reachable);
  if (isFailure(plan)) return plan;
  const { tenant } = call.principal;
  const ids = extras.answerGives === null ? null : await keeperOf(services, call, extras);
  const keep: WrittenFor['keep'] = (items) => services.items.keep(tenant, items);
  return {
    ...plan,
    bound: bound?.field,
    ...(ids !== null && { given: ids.given }),
    extras: { tools, items, unwritten: ids?.unwritten ?? null, ...(extras.answerGives === 'all' && { keep }) },
  };
}

/** The targets of the alias, then those of the other models that the caller named. */
function withFallbacks(
  { models, providers }: Snapshot,
  alias: Alias,
  aliasCandidates: readonly RouteCandidate[],
  fallbackModels: readonly string[],
  principal: Principal,
): readonly RouteCandidate[] | Failure {
  if (fallbackModels.length === 0) return aliasCandidates;
  const candidates = [...aliasCandidates];
  let rank = Math.max(...candidates.map((candidate) => candidate.rank));
  for (const model of fallbackModels) {
    if (model === alias.id) continue;
    const further = models.resolveBeside(alias, model, principal);
    if (isFailure(further)) return further;
    if (further.id === alias.id) continue;
    rank++;
    for (const { target } of further.candidates) if (chats(providers, target)) candidates.push({ target, rank });
  }
  return candidates;
}

function chargedForAll(
  { plans }: PlanServices,
  { models }: Snapshot,
  alias: Alias,
  { principal }: ChatCall,
  fallbackModels: readonly string[],
): ChargedAs {
  const further = fallbackModels.flatMap((model) => {
    const found = models.resolveBeside(alias, model, principal);
    return isFailure(found) ? [] : [found];
  });
  const charged = chargedAs([alias, ...further], plans().plan(principal.plan));
  return { ...charged, furtherModels: further.map(({ id }) => id) };
}

/** The same request where this gateway runs tools: the model is offered functions in their place. */
function offering(
  tools: ToolsHere,
  facts: ConversationFacts & { extras: ConversationExtras },
  candidates: readonly RouteCandidate[],
): ConversationFacts & { extras: ConversationExtras } {
  const { needs, extras } = facts;
  const isOffered = tools.use === 'needed' || candidates.some(({ target }) => target.capabilities.tools);
  return {
    ...facts,
    needs: { ...needs, tools: needs.tools || isOffered },
    extras: {
      ...extras,
      named: namedElsewhere(extras.named, tools),
      nativeOnly: extras.nativeFor === 'choice' && tools.choice !== null ? null : extras.nativeOnly,
    },
  };
}

/** Why none of these candidates can answer what only their own format says; null: one can. */
function unspokenBy(
  { models }: Snapshot,
  { dialect, principal }: ChatCall,
  { nativeOnly, nativeFor }: ConversationExtras,
  candidates: readonly RouteCandidate[],
): Failure | null {
  if (nativeOnly === null || oneSpeaks(dialect, candidates)) return null;
  if (nativeFor === null || nativeFor === 'judge') return nativeOnly;
  return orUse(
    nativeOnly,
    models.list(principal).filter((other) => oneSpeaks(dialect, other.candidates)),
  );
}

/** The attempts at a conversation without extras, and their parts. */
export interface PlainTrials {
  conversation: Conversation;
  writtenFor: WrittenFor;
  trials: Trials & Required<Pick<Trials, 'remedy'>>;
}

/** The same attempts, with tools that run between them, and with an answer that waits for its ids to be written. */
export function trialsWithExtras(
  services: ChatServices,
  endpoint: Pick<Endpoint<never, RequestBody>, 'id' | 'cost'>,
  planned: PlannedRequest<ConversationBody, ChatPlan>,
  { tools, unwritten }: PlannedExtras,
  job: Job,
  plain: PlainTrials,
): Trials {
  const trials = tools === null ? plain.trials : trialsWithTools(services, endpoint, planned, tools, job, plain);
  if (unwritten === null) return trials;
  const sink = new RecordedSink(job, unwritten);
  job.sink = sink;
  job.client = sink.client;
  return {
    ...trials,
    async run() {
      await (trials.run === undefined ? runAttempts(services, job, trials) : trials.run());
      await sink.finished;
    },
  };
}

function trialsWithTools(
  services: ChatServices,
  endpoint: Pick<Endpoint<never, RequestBody>, 'id' | 'cost'>,
  { call, snapshot, request, plan }: PlannedRequest<ConversationBody, ChatPlan>,
  tools: ToolsHere,
  job: Job,
  { conversation, writtenFor, trials }: PlainTrials,
): Trials {
  const { ports } = services.serverTools;
  if (ports === null) return trials;
  const { remedy } = trials;
  const loop: Omit<ToolLoop, 'job'> = {
    services,
    ports,
    endpoint,
    requested: tools,
    planned: { snapshot, call, plan, facts: request.facts },
    writtenFor,
    steps: { remedy },
    trialOf(job, turn) {
      const { dialect } = conversation;
      const turnFor = (target: Target) => turnAt(snapshot.providers, dialect, tools, turn, target);
      const media = () => conversation.media(job.client);
      const withTurn: Conversation = { ...conversation, turnFor, media };
      return (answer) => conversationTrial(services, job, withTurn, answer, null);
    },
  };
  // A sink that keeps the answer is before the job's own by then.
  return { ...trials, run: () => runToolLoop({ ...loop, job }) };
}
