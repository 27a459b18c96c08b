import { type Failure, FailureError, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Alias } from '../../models/alias.ts';
import type { PromptMessage } from '../../models/prompted-body.ts';
import type { Snapshot } from '../../models/snapshot.ts';
import type {
  AnswerGate,
  AnswerJudge,
  AnswerTexts,
  GatewayStep,
  RequestView,
  RunningStep,
  StepRequest,
  TextFilter,
  TextParts,
  Verdict,
} from '../../models/steps.ts';
import { BufferedAnswer } from '../buffered-answer.ts';
import type { ModelCall } from '../model-call.ts';
import { PassingSink } from '../passing-sink.ts';
import type { ReadableInput } from '../readable-input.ts';
import { type Reading, readAgain } from '../reading.ts';
import type { AnswerForm, Failed, HeaderList, Sink } from '../sink.ts';

/** A read request, and the models that may answer it. */
interface SteppedValue {
  release(): void | Promise<void>;
  facts?: {
    model: string;
    extras?: { fallbackModels: readonly string[] } | null;
    user?: string | null;
    tag?: string | null;
    session?: string | null;
    echo?: JsonObject | undefined;
  };
}

/**
 * A read request through the configured steps, in their order. What they change is read again, as if its caller had
 * sent it so, and takes the place of `value`, which is released.
 */
export async function throughSteps<I, V extends SteppedValue>(
  { steps, models }: Snapshot,
  endpoint: Reading<ModelCall, I, V> & { readonly id: string; readonly filters?: 'events' | 'nothing' },
  call: ModelCall,
  input: I,
  value: V,
  again?: (call: ModelCall, input: I, turns: readonly PromptMessage[]) => Promise<string | null>,
): Promise<{ call: ModelCall; input: I; value: V } | { refused: Failure; headers: HeaderList }> {
  const named = value.facts === undefined ? null : models.resolve(value.facts.model, call.principal);
  const alias = named === null || !isFailure(named) ? named : models.standIn(call.principal);
  const { requestId, principal, callerHeaders } = call;
  let current = input;
  let { tag } = call;
  const about: StepRequest = { requestId, principal, callerHeaders, endpoint: endpoint.id, alias };
  if (again !== undefined) about.again = (turns) => again(call, current, turns);
  const begun = new Set<GatewayStep>();
  const running: RunningStep[] = [];
  const begin = (answering: Alias | null) => {
    for (const step of steps?.of(principal, answering) ?? []) {
      const begins = begun.has(step) ? null : step.begin(about);
      begun.add(step);
      if (begins !== null) running.push(begins);
    }
  };
  const beginFor = (model: string) => {
    const answering = models.resolve(model, principal);
    if (!isFailure(answering)) begin(answering);
  };
  begin(alias);
  // Whichever of its models answers: the steps of each have seen the request.
  for (const model of value.facts?.extras?.fallbackModels ?? []) beginFor(model);
  if (running.length === 0) return { call, input, value };
  const beside: Promise<Failure | null>[] = [];
  const readable = () => endpoint.readable?.(call, current) ?? null;
  const view = viewOf(readable);
  try {
    // A verdict that names another model adds the steps of that one.
    for (const step of running) {
      const verdict = (await step.request?.(view)) ?? null;
      if (verdict === null) continue;
      if ('refused' in verdict) return { refused: verdict.refused, headers: headersOf(running) };
      if ('beside' in verdict) {
        beside.push(verdict.beside);
        continue;
      }
      tag = verdict.tag ?? tag;
      if (verdict.model !== undefined) beginFor(verdict.model);
      current = await changedBy(verdict, endpoint, call, current);
    }
  } catch (error) {
    if (error instanceof FailureError) return { refused: error.failure, headers: headersOf(running) };
    throw error;
  }
  const isHeld = endpoint.filters === 'events' && !(call.client instanceof BufferedAnswer);
  const gate = await gateOf(beside, running, isHeld ? 'answer' : 'request');
  if (gate !== null && 'refused' in gate) return { ...gate, headers: headersOf(running) };
  const filtered = steppedCall(tag === call.tag ? call : { ...call, tag }, running, gate);
  if (current === input) return { call: filtered, input, value };
  const changed = await readAgain(endpoint, call, current, value);
  if (isFailure(changed)) return { refused: changed, headers: headersOf(running) };
  // Budgets count by the caller's names, and the answer repeats what the caller wrote.
  if (value.facts !== undefined && changed.value.facts !== undefined) {
    const { user, tag, session, echo } = value.facts;
    Object.assign(changed.value.facts, { user, tag, session, echo });
  }
  return { ...changed, call: filtered };
}

/** The input with what a step changes of it. */
async function changedBy<I>(
  { model, changes: texts = [], addition }: Extract<Verdict, { changes?: unknown }>,
  endpoint: Omit<Reading<ModelCall, I, unknown>, 'read'>,
  call: ModelCall,
  input: I,
): Promise<I> {
  const changes = model === undefined ? texts : [...texts, { path: ['model'], text: model }];
  const changed = changes.length === 0 ? null : given(await endpoint.readable?.(call, input)?.rewrite(changes));
  const current = changed ?? input;
  if (addition === undefined) return current;
  return given(await endpoint.addable?.(call, current).with(addition)) ?? current;
}

function viewOf<I>(readable: () => ReadableInput<I> | null): RequestView {
  return {
    texts: async () => given(await readable()?.texts()),
    canonical: async () => given(await readable()?.canonical()),
  };
}

/** The call whose answer the steps see. */
function steppedCall(call: ModelCall, running: readonly RunningStep[], gate: AnswerGate | null): ModelCall {
  void gate?.request?.then((failure) => failure !== null && call.withhold?.());
  const hasHeaders = running.some(({ headers }) => headers !== undefined);
  return {
    ...call,
    answerTexts: answerTextsOf(running),
    chooses: choosesOf(running),
    turns: running.flatMap(({ turns }) => (turns === undefined ? [] : [turns])),
    attempted: attemptedOf(running),
    ...(gate !== null && { gate }),
    ...(hasHeaders && {
      stepHeaders: () => headersOf(running),
      sink: new HeadedSink(call.sink, () => headersOf(running)),
    }),
  };
}

function choosesOf(running: readonly RunningStep[]): ModelCall['chooses'] {
  const routes = running.map(({ route }) => route).filter((route) => route !== undefined);
  if (routes.length === 0) return undefined;
  return async (targets) => {
    let chosen = targets;
    for (const route of routes) {
      const next = await route(chosen);
      if (isFailure(next)) return next;
      chosen = next ?? chosen;
    }
    return chosen === targets ? null : chosen;
  };
}

function attemptedOf(running: readonly RunningStep[]): ModelCall['attempted'] {
  const listeners = running.map(({ attempted }) => attempted).filter((attempted) => attempted !== undefined);
  if (listeners.length === 0) return undefined;
  return (attempt) => {
    for (const listener of listeners) listener(attempt);
  };
}

/** Whether steps read the texts of such requests: nobody else gets them before. */
export function readsRequests(
  { steps }: Snapshot,
  about: Omit<StepRequest, 'endpoint' | 'alias'>,
  alias: Alias,
): boolean {
  const begun =
    steps?.of(about.principal, alias)?.map((step) => step.begin({ ...about, endpoint: 'chat', alias })) ?? [];
  return begun.some((running) => running?.request !== undefined);
}

/** Why the steps of these callers let no session of this model begin: they see none of its texts. Null: they let it. */
export function sessionRefusal(
  { steps }: Snapshot,
  { requestId, principal, callerHeaders }: ModelCall,
  alias: Alias,
): Failure | null {
  for (const step of steps?.of(principal, alias) ?? []) {
    const running = step.begin({ requestId, principal, callerHeaders, endpoint: 'realtime', alias });
    const refused = running?.session?.() ?? null;
    if (refused !== null) return refused;
  }
  return null;
}

function headersOf(running: readonly RunningStep[]): HeaderList {
  return running.flatMap(({ headers }) => headers?.() ?? []);
}

/** Adds what steps say to the headers: by then a whole answer has passed them. */
class HeadedSink extends PassingSink {
  readonly #headers: () => HeaderList;

  constructor(next: Sink, headers: () => HeaderList) {
    super(next);
    this.#headers = headers;
  }

  override start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.next.start(form, [...headers, ...this.#headers()], status);
  }

  override end(failed: Failed | null): void {
    this.next.end(failed === null ? null : { ...failed, headers: [...failed.headers, ...this.#headers()] });
  }
}

function given<T>(result: T | Failure | undefined): T | null {
  if (isFailure(result)) throw new FailureError(result);
  return result ?? null;
}

/** The first of several verdicts that refuses. */
const firstFailure = (verdicts: readonly (Failure | null)[]) => verdicts.find((verdict) => verdict !== null) ?? null;

/**
 * Verdicts that the answer waits for; null: none. Only who waits at a connection gains from an answer that is asked for
 * meanwhile, and only events can be held: else the request waits here.
 */
async function gateOf(
  beside: readonly Promise<Failure | null>[],
  running: readonly RunningStep[],
  waits: 'answer' | 'request',
): Promise<AnswerGate | { refused: Failure } | null> {
  const judges = running.map(({ judge }) => judge).filter((judge) => judge !== undefined);
  const judge = judges.length === 0 ? null : judgedBy(judges);
  const whole = judges.some((one) => one.whole === true);
  const repaired = judges.find((one) => one.repaired !== undefined)?.repaired;
  const answerGate = { judge, whole, ...(repaired !== undefined && { repaired }) };
  if (beside.length === 0) return judge === null ? null : { request: null, ...answerGate };
  const request = Promise.all(beside).then(firstFailure);
  if (waits === 'answer') return { request, ...answerGate };
  const refused = await request;
  return refused !== null ? { refused } : judge === null ? null : { request: null, ...answerGate };
}

/** Judge that asks those that change texts in turn, then all others concurrently. */
function judgedBy(judges: readonly AnswerJudge[]): AnswerJudge['of'] {
  return async (texts) => {
    let current = texts;
    for (const { of } of judges.filter(({ changes }) => changes)) {
      const judged = await of(current);
      if (isFailure(judged)) return judged;
      current = current.map((text, index) => ({ ...text, text: judged[index] ?? text.text }));
    }
    const verdicts = await Promise.all(judges.filter(({ changes }) => !changes).map(({ of }) => of(current)));
    return verdicts.find((verdict) => isFailure(verdict)) ?? current.map(({ text }) => text);
  };
}

/** The filters of all steps, the first one's before the second's. */
function answerTextsOf(running: readonly RunningStep[]): AnswerTexts | undefined {
  const answers = running.map(({ answer }) => answer).filter((answer) => answer !== undefined);
  if (answers.length === 0) return undefined;
  return (place) => {
    const filters = answers.map((answer) => answer(place)).filter((filter) => filter !== null);
    return filters.length === 0 ? null : filters.reduce(inTurn);
  };
}

function inTurn(first: TextFilter, second: TextFilter): TextFilter {
  const bothEnd = first.endPart !== undefined && second.endPart !== undefined;
  let partEnds: number[] = [];
  const noteEnds = (before: string) => {
    for (const end of second.partEnds?.() ?? []) partEnds.push(before.length + end);
  };
  const through = (text: string | Failure) => {
    partEnds = [];
    if (isFailure(text)) return text;
    let passed = '';
    let from = 0;
    for (const end of [...(first.partEnds?.() ?? []), null]) {
      const piece = second.push(text.slice(from, end ?? text.length));
      if (isFailure(piece)) return piece;
      noteEnds(passed);
      passed += piece;
      if (end !== null) second.endPart?.();
      from = end ?? text.length;
    }
    return passed;
  };
  const resumed = () => inTurn(first.resumed?.() ?? first, second.resumed?.() ?? second);
  return {
    push: (text) => through(first.push(text)),
    ...(first.resumed !== undefined && second.resumed !== undefined && { resumed }),
    ...(bothEnd && { endPart: () => first.endPart?.(), partEnds: () => partEnds }),
    isInWord: () => bothEnd && (first.isInWord?.() === true || second.isInWord?.() === true),
    isNumber: (text) => first.isNumber?.(text) === true || second.isNumber?.(text) === true,
    hides: () => (first.hides?.() ?? true) || (second.hides?.() ?? true),
    unread: (parts) => firstFailure([first.unread?.(parts) ?? null, second.unread?.(parts) ?? null]),
    parts: () => partsInTurn(first.parts?.(), second.parts?.()),
    end() {
      const rest = through(first.end());
      const last = typeof rest === 'string' ? second.end() : '';
      if (typeof rest === 'string') noteEnds(rest);
      return typeof rest === 'string' && typeof last === 'string' ? rest + last : last || rest;
    },
  };
}

/** Undefined: one of them takes no parts. */
function partsInTurn(first: TextParts | undefined, second: TextParts | undefined): TextParts | undefined {
  if (first === undefined || second === undefined) return undefined;
  return (part) => {
    const passed = first(part);
    if (isFailure(passed)) return passed;
    const further = (part === null ? [...passed, null] : passed).map(second);
    return further.find((one) => isFailure(one)) ?? further.flatMap((one) => (isFailure(one) ? [] : one));
  };
}
