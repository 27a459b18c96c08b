import { type MovedBy, type Principal, serverPrincipal } from '../../books/auth/principal.ts';
import type { LimitsLeft } from '../../books/metering/limits/limits-left.ts';
import type { RequestParts } from '../../books/metering/part-budgets.ts';
import { unknownData } from '../../config/data-rules.ts';
import type { RouteConfig } from '../../config/schema.ts';
import type { RequestNeeds } from '../../formats/neutral/request.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { ClassifiedBy, RulesRecord } from '../../routing/route.ts';
import { type LateFact, type RuleFacts, secretHeaders } from '../../rules/rule-facts.ts';
import { onlyLooks, type RouteRule, tryRule, type UnmetRule } from '../models/route-rules.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { InnerCalls } from './answer-cache.ts';
import { endUserOf } from './end-user.ts';
import type { ModelCall } from './model-call.ts';
import { type Reading, readAgain } from './reading.ts';
import { type Classified, type ClassifyConfig, classified } from './steps/classified.ts';

/** Facts of a read request that conditions look at. Absent: no model answers it. */
export interface RuledFacts {
  model: string;
  stream?: boolean;
  user?: string | null;
  tag?: string | null;
  needs?: RuledNeeds;
}

type RuledNeeds = Partial<
  Pick<RequestNeeds, 'vision' | 'audioIn' | 'transcription' | 'tools' | 'inputTokensEstimate' | 'maxOutputTokens'>
>;

/** The parts of a call that rules look at and change. */
export type RuledCall = Pick<ModelCall, 'principal' | 'tag' | 'callerHeaders' | 'atMs' | 'rules'>;

/** Reads how full the limits of a caller are; null: nobody can say. */
export type ReadLeft = (principal: Principal, parts: RequestParts) => Promise<LimitsLeft | null>;

/** Sources of facts beyond the request, for rules; null: nobody can say. */
export interface RuleSources {
  left: ReadLeft | null;
  /** Models of this server, for rules that classify. */
  inner: (() => Promise<Pick<InnerCalls, 'embed'>>) | null;
}

/** Effects of the rules that applied. */
interface Effects {
  record: RulesRecord;
  config: Pick<RouteConfig, 'model' | 'targets' | 'parameters' | 'tag'>;
  /** The rule that names the model, or else the targets. */
  by: string;
}

/**
 * A read request through the rules for routes, in their order. What they change in its body is read again, as if its
 * caller had sent it so, and takes the place of `value`, which is released.
 */
export async function throughRules<
  I,
  V extends { release(): void | Promise<void>; facts?: RuledFacts },
  C extends RuledCall,
>(
  { rules, models }: Pick<Snapshot, 'rules' | 'models'>,
  sources: RuleSources,
  endpoint: Reading<C, I, V> & { readonly id: string },
  call: C,
  input: I,
  value: V,
): Promise<{ call: C; input: I; value: V } | Failure> {
  // Models that guards, caches and rules ask: those rules would ask them again.
  if (rules === null || call.principal.account === serverPrincipal.account) return { call, input, value };
  const texts = async () => {
    const found = await endpoint.readable?.(call, input)?.texts();
    if (found === undefined || isFailure(found)) return [];
    return found.parts.filter(({ kind }) => kind === 'user').map(({ text }) => text);
  };
  const facts = factsOf(endpoint.id, call, value.facts);
  const effects = await effectsOf(rules, facts, { principal: call.principal, sources, models, texts });
  if (isFailure(effects)) return effects;
  const { config, record } = effects;
  const ruled: C = { ...call, rules: record, tag: config.tag ?? call.tag };
  const model = value.facts === undefined || config.model === facts.model ? undefined : config.model;
  if (value.facts !== undefined && (model !== undefined || config.targets !== undefined)) {
    ruled.principal = moved(models, call.principal, facts.model, { ...effects, config: { ...config, model } });
  }
  const written = await withEffects(endpoint, ruled, input, { model, parameters: config.parameters });
  if (written === null) return { call: ruled, input, value };
  if (isFailure(written)) return written;
  return readAgain(endpoint, ruled, written, value);
}

/** The model and the caller that rules give a session, or a body that is only counted: nothing in it is changed. */
export async function modelThroughRules<C extends RuledCall>(
  { rules, models }: Pick<Snapshot, 'rules' | 'models'>,
  sources: RuleSources,
  call: C,
  { endpoint, ...read }: RuledFacts & { endpoint: string },
): Promise<{ call: C; model: string } | Failure> {
  const { model } = read;
  if (rules === null) return { call, model };
  const facts = factsOf(endpoint, call, read);
  const asking = { principal: call.principal, sources, models, texts: async () => [] };
  const effects = await effectsOf(rules, facts, asking);
  if (isFailure(effects)) return effects;
  const { config, record } = effects;
  const isMoved = config.targets !== undefined || (config.model !== undefined && config.model !== model);
  const principal = isMoved ? moved(models, call.principal, model, effects) : call.principal;
  return { call: { ...call, principal, rules: record, tag: config.tag ?? call.tag }, model: config.model ?? model };
}

function factsOf(
  endpoint: string,
  { principal, tag, callerHeaders, atMs }: RuledCall,
  read: RuledFacts | undefined,
): RuleFacts {
  const needs = read?.needs;
  const media: string[] = [];
  if (needs?.vision === true || endpoint === 'image-edit' || endpoint === 'image-variation') media.push('image');
  if (needs?.audioIn === true || needs?.transcription !== undefined || endpoint === 'realtime') media.push('audio');
  return {
    endpoint,
    model: read?.model ?? '',
    tag: tag ?? read?.tag ?? '',
    user: endUserOf({ principal, callerHeaders }, read?.user) ?? '',
    account: principal.account,
    key: `${principal.account}/${principal.keyName}`,
    key_name: principal.keyName,
    plan: principal.plan,
    stream: read?.stream ?? false,
    tools: needs?.tools ?? false,
    tokens: needs?.inputTokensEstimate ?? 0,
    max_tokens: needs?.maxOutputTokens ?? 0,
    media,
    header(name) {
      if (secretHeaders.has(name) || !Object.hasOwn(callerHeaders, name)) return undefined;
      const value = callerHeaders[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    atMs,
  };
}

/** Tries the rules in order, and gathers the effects of those that apply: of two that set one thing, the first counts. */
async function effectsOf(rules: readonly RouteRule[], facts: RuleFacts, asking: Asking): Promise<Effects | Failure> {
  const looks = new LateLooks(facts, asking);
  const applied: string[] = [];
  const passed: UnmetRule[] = [];
  const config: Effects['config'] = {};
  const classes: ClassifiedBy[] = [];
  let by = '';
  for (const rule of rules) {
    let tried = tryRule(rule, facts, looks.done);
    while (tried !== 'applies' && 'late' in tried) {
      await looks.look(tried.late);
      tried = tryRule(rule, facts, looks.done);
    }
    if (tried !== 'applies') {
      passed.push(tried.unmet);
      continue;
    }
    applied.push(rule.name);
    const { refuse, targets, parameters, tag } = rule.config;
    if (refuse !== undefined) return refusal(rule, refuse);
    const model = await modelOf(rule, facts, looks, classes);
    if (by === '' && (model !== undefined || targets !== undefined)) by = rule.name;
    config.model ??= model;
    config.targets ??= targets;
    config.tag ??= tag;
    config.parameters = parameters === undefined ? config.parameters : { ...parameters, ...config.parameters };
    if (!rule.config.continue && !onlyLooks(rule.config)) break;
  }
  const record = {
    applied,
    passed: passed.slice(0, passedMax),
    ...(passed.length > passedMax && { passedMore: passed.length - passedMax }),
    ...(classes.length > 0 && { classified: classes }),
  };
  return { config, by, record };
}

/** Rules that did not apply which a record names. */
const passedMax = 20;

function refusal({ name }: RouteRule, { message, status }: NonNullable<RouteConfig['refuse']>): Failure {
  return { kind: 'rule-refused', rule: name, status, message: `${message} (rule '${name}')` };
}

/** The model that a rule gives; a rule that classifies notes how. */
async function modelOf({ name, config }: RouteRule, facts: RuleFacts, looks: LateLooks, classes: ClassifiedBy[]) {
  const { model, ladder, classify } = config;
  if (classify !== undefined) {
    const found = await looks.classified(classify);
    classes.push({ rule: name, ...found, ...(classify.observe && { observed: true }) });
    return classify.observe ? undefined : (found.model ?? classify.otherwise);
  }
  if (ladder === undefined) return model;
  const { by, steps } = ladder;
  if (by !== 'tokens' && !looks.done.has(by)) await looks.look(by);
  const value = facts[by];
  // Nobody can say what is left: the model stays.
  if (value === undefined) return undefined;
  return steps.find(({ at_least = 0, at_most = Number.POSITIVE_INFINITY }) => value >= at_least && value <= at_most)
    ?.model;
}

/** Characters of a text by which its language is recognized. */
const judgedChars = 500;

/** Caller and texts of a request, and where more is known of them. */
interface Asking {
  principal: Principal;
  sources: RuleSources;
  models: Pick<Snapshot['models'], 'barred'>;
  /** Texts of the user, the newest last. */
  texts(): Promise<string[]>;
}

/** Looks up facts that few conditions name, each at most once a request. */
class LateLooks {
  readonly done = new Set<LateFact>();
  readonly #facts: RuleFacts;
  readonly #asking: Asking;

  constructor(facts: RuleFacts, asking: Asking) {
    this.#facts = facts;
    this.#asking = asking;
  }

  async look(fact: LateFact): Promise<void> {
    const facts = this.#facts;
    const { principal, sources, texts: textsOf } = this.#asking;
    this.done.add(fact);
    if (fact === 'language') {
      const { languageOf } = await import('../../guards/checks/languages.ts');
      const texts = await textsOf();
      // The newest says which language the answer will have.
      facts.language = languageOf(texts.slice(-20).reverse().join('\n').slice(0, judgedChars)) ?? '';
      return;
    }
    this.done.add('budget_left').add('units_left');
    const { user, tag, model } = facts;
    const left = (await sources.left?.(principal, { user: user || null, tag: tag || null, models: [model] })) ?? null;
    facts.budget_left = left?.budget;
    facts.units_left = left?.units;
  }

  /** The class of the newest text of the user. */
  async classified(classify: ClassifyConfig): Promise<Classified> {
    const { principal, sources, models, texts } = this.#asking;
    const { inner } = sources;
    // A caller's data rules hold for the model that embeds its text, too.
    const barred = models.barred(principal, unknownData, 'the embedding model') !== null;
    const text = inner === null || barred ? '' : ((await texts()).at(-1) ?? '');
    if (inner === null || text === '') return { model: null, score: null };
    return classified(classify, text, (await inner()).embed);
  }
}

/** Callers whose requests rules have moved, so that what is remembered by caller stays remembered. */
const movedCallers = new WeakMap<Principal, Map<string, Principal>>();
/** Maximum number for one caller. */
const movedMax = 200;

/**
 * The caller as a rule lets it go on. An operator's rule may leave the models of a plan, as `fallbacks` do, if the plan
 * has the model that was asked for.
 */
function moved(models: Snapshot['models'], principal: Principal, from: string, { by, config }: Effects): Principal {
  const resolved = models.resolve(from, principal);
  const model = isFailure(resolved) ? null : (config.model ?? null);
  const move: MovedBy = { rule: by, model, targets: config.targets ?? null };
  const name = JSON.stringify(move);
  let known = movedCallers.get(principal);
  if (known === undefined || known.size >= movedMax) {
    known = new Map();
    movedCallers.set(principal, known);
  }
  let caller = known.get(name);
  if (caller === undefined) {
    caller = { ...principal, moved: move };
    known.set(name, caller);
  }
  return caller;
}

/** The input with another model and parameters; null: it stays as it is. */
async function withEffects<I, C>(
  endpoint: Omit<Reading<C, I, unknown>, 'read'>,
  call: C,
  input: I,
  { model, parameters }: Pick<RouteConfig, 'model' | 'parameters'>,
): Promise<I | Failure | null> {
  const body = endpoint.addable?.(call, input);
  if (body !== undefined && (model !== undefined || parameters !== undefined)) {
    return await body.with({ messages: [], parameters: parameters ?? {}, over: true, model: model ?? null });
  }
  if (model === undefined) return null;
  return (await endpoint.readable?.(call, input)?.rewrite([{ path: ['model'], text: model }])) ?? null;
}
