import type { PlanBook } from '../../../books/metering/plan-book.ts';
import { costMilliOf } from '../../../books/metering/settlement.ts';
import type { Config } from '../../../config/schema.ts';
import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import { lossHeader } from '../../../formats/neutral/loss.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { knownEntry } from '../../../kernel/known-entry.ts';
import { explainRoute } from '../../../routing/explain.ts';
import type { HedgePolicy, HedgeReason, RulesRecord } from '../../../routing/route.ts';
import type { Target } from '../../../routing/target.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type { CacheExplained } from '../../spine/answer-cache.ts';
import type { ExplainedRequest, ExplainedTarget, Question } from '../../spine/explained.ts';
import { explainRules, plainReadable } from '../../spine/explained-rules.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import { type AddableInput, promptIn, throughPrompt, withAdded } from '../../spine/prompted.ts';
import { throughVariant } from '../../spine/varied.ts';
import { canonicalConversation } from './canonical.ts';
import { type ConversationBody, type ConversationFacts, readConversation } from './conversation-body.ts';
import { prepareFor } from './conversation-trial.ts';
import { type ConversationEndpoint, planOf } from './endpoint.ts';
import { nothingFetched } from './fetch-media.ts';
import { answersAlone, type ChatPlan, withFiles } from './plan-extras.ts';
import type { ExplainServices, PlanServices } from './services.ts';

export interface ChatQuestion extends Question {
  endpoint: ConversationEndpoint;
  dialect: CallerDialectId;
}

type VariedQuestion = ChatQuestion & Pick<ModelCall, 'callerHeaders' | 'variant'> & { rules?: RulesRecord };

/** Shows the way that this body would take, by the same code, without sending anything. */
export async function explainChat(
  planning: ExplainServices,
  question: ChatQuestion,
): Promise<ExplainedRequest | Failure> {
  const { bodies, uploads } = planning;
  const { principal, dialect, snapshot } = question;
  const addable = (_: unknown, body: Buffer): AddableInput<Buffer> => ({
    named: () => promptIn(body, dialect),
    with: (addition) => withAdded(body, dialect, addition),
  });
  const prompted =
    snapshot.prompts === null
      ? null
      : await throughPrompt(snapshot.prompts, question.raw, addable(question, question.raw));
  if (isFailure(prompted)) return prompted;
  const raw = prompted ?? question.raw;
  const read = readConversation(raw, dialect);
  if (isFailure(read)) return read;
  const whole =
    bodies === undefined || uploads === undefined
      ? read
      : await withFiles({ bodies, uploads }, principal, dialect, raw, read);
  if (isFailure(whole)) return whole;
  let value = whole;
  try {
    let current: VariedQuestion = { ...question, raw, callerHeaders: question.ruled?.callerHeaders ?? {} };
    const readable = (_: unknown, body: Buffer) => plainReadable(body, dialect);
    const again = {
      id: question.endpoint,
      addable,
      readable,
      read: (_: unknown, body: Buffer) => readConversation(body, dialect),
    };
    if (snapshot.rules !== null) {
      const ruled = await explainRules<Buffer, ConversationBody, VariedQuestion>(snapshot, again, current, raw, value);
      if (isFailure(ruled)) return ruled;
      ({ value } = ruled);
      current = { ...ruled.call, raw: ruled.input };
    }
    if (!snapshot.varies) return await explained(planning, current, value);
    const varied = await throughVariant<Buffer, ConversationBody, VariedQuestion>(
      snapshot,
      again,
      current,
      current.raw,
      value,
    );
    if (isFailure(varied)) return varied;
    ({ value } = varied);
    return await explained(planning, { ...varied.call, raw: varied.input }, value);
  } finally {
    await value.release();
  }
}

/** A look into the cache of the model; null: nobody here can look into it. */
async function cacheOf(
  { cache }: ExplainServices,
  { snapshot, principal, preferences, endpoint, dialect, raw }: ChatQuestion,
  { alias, query: { targets } }: Pick<ChatPlan, 'alias' | 'query'>,
  facts: ConversationFacts,
): Promise<CacheExplained | null> {
  if (cache === undefined) return null;
  const found = canonicalConversation(raw, dialect);
  const canonical = isFailure(found) ? null : found;
  const form = facts.extras === null || answersAlone(facts.extras) ? 'events' : null;
  return await cache.explain({
    snapshot,
    principal,
    preferences,
    endpoint,
    alias,
    targets,
    form,
    facts,
    canonical,
    callerHeaders: {},
  });
}

async function explained(
  planning: ExplainServices,
  question: VariedQuestion,
  body: ConversationBody,
): Promise<ExplainedRequest | Failure> {
  const { snapshot, endpoint, dialect } = question;
  const { facts } = body;
  const plan = await planOf(planning, snapshot, question, facts, 'explain');
  if (isFailure(plan)) return plan;
  const { alias, charged, calls, query } = plan;
  const candidates = query.targets;
  const route = explainRoute(query, question.health, question.nowMs);
  const byId = new Map(candidates.map(({ target }) => [target.id, target]));
  const fansOut = calls > 1 && !candidates.some(({ target }) => target.capabilities.nativeN);
  return {
    kind: 'explained',
    alias: alias.id,
    ...(alias.variant !== undefined && { variant: alias.variant }),
    ...(question.rules !== undefined && { rules: question.rules }),
    barred: alias.barred ?? [],
    endpoint,
    stream: facts.stream,
    cost: costMilliOf(snapshot.config.costs, endpoint, charged.cost, fansOut ? calls : 1) / 1_000,
    attemptsMax: question.preferences.fallback === 'off' ? 1 : alias.attempts,
    hedgedWhen:
      candidates.length < 2 || question.preferences.fallback === 'off' ? [] : hedgedWhen(alias.hedge, facts.stream),
    inputTokensEstimate: facts.needs.inputTokensEstimate,
    upstreamRequests: fansOut ? calls : 1,
    cache: alias.cache === undefined ? null : await cacheOf(planning, question, plan, facts),
    candidates: await Promise.all(
      route.candidates.map(async (candidate) => {
        const target = knownEntry(byId, candidate.target);
        const sending = await wouldSend(snapshot, body, target, dialect, fansOut ? { seed: facts.seed } : null);
        return { ...candidate, simulated: target.simulated, ...sending };
      }),
    ),
    unmet: route.unmet,
  };
}

function hedgedWhen({ after }: HedgePolicy, stream: boolean): HedgeReason[] {
  return stream && after === null ? ['silent', 'late'] : ['silent', 'slow', 'late'];
}

async function wouldSend(
  snapshot: Snapshot,
  body: ConversationBody,
  target: Target,
  callerDialect: CallerDialectId,
  child: { seed: number | null } | null,
): Promise<Pick<ExplainedTarget, 'sent' | 'why'>> {
  const prepared = await prepareFor(target, {
    body,
    dialect: callerDialect,
    providers: snapshot.providers,
    child,
    after: null,
    media: () => nothingFetched,
  });
  if (isFailure(prepared)) return { sent: null, why: 'message' in prepared ? prepared.message : prepared.kind };
  return {
    sent: {
      answer: prepared.answer,
      dialect: prepared.upstreamDialect.id,
      calls: 1,
      bytes: Buffer.byteLength(prepared.bytes),
      dropped: lossHeader(prepared.losses) || null,
    },
    why: null,
  };
}

/** For a process without stores: whatever a request names counts as there, and the configured tools as usable. */
export function planningWithoutStores(plans: () => PlanBook, config: () => Config): PlanServices {
  return {
    plans,
    items: { keep() {}, find: (_tenant, references) => Object.fromEntries(references.map(({ id }) => [id, {}])) },
    objects: {
      ready: async () => undefined,
      give() {},
      recorded: () => null,
      bind: async ({ candidates }) => ({ kind: 'bound', candidates, field: null }),
    },
    serverTools: { ports: { has: (kind) => kind !== 'web_search' || config().tools.search.providers.length > 0 } },
  };
}
