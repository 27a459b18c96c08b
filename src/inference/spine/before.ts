import type { Result } from '../../formats/dialects/dialect.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import type { Snapshot } from '../models/snapshot.ts';
import type { AnswerTexts, RunningStep, TextFilter } from '../models/steps.ts';
import type { ModelCall } from './model-call.ts';
import type { ReadableInput } from './readable-input.ts';
import type { AnswerForm, Bytes, Failed, HeaderList, Pace, Sink } from './sink.ts';

/**
 * A read request through the configured steps, in their order. What they change is read again, as if its caller had
 * sent it so, and takes the place of `value`, which is released.
 */
export async function throughSteps<I, V extends { release(): void | Promise<void>; facts?: { model: string } }>(
  { steps, models }: Snapshot,
  endpoint: {
    readonly id: string;
    read(call: ModelCall, input: I): Result<V> | Promise<Result<V>>;
    readable?(call: ModelCall, input: I): ReadableInput<I> | null;
  },
  call: ModelCall,
  input: I,
  value: V,
): Promise<{ call: ModelCall; input: I; value: V } | { refused: Failure; headers: HeaderList }> {
  const named = value.facts === undefined ? null : models.resolve(value.facts.model, call.principal);
  const alias = named === null || !('kind' in named) ? named : models.standIn(call.principal);
  const applying = steps?.of(call.principal, alias) ?? null;
  if (applying === null) return { call, input, value };
  const { requestId, principal, callerHeaders } = call;
  const about = { requestId, principal, callerHeaders, endpoint: endpoint.id, alias };
  const running = applying.map((step) => step.begin(about)).filter((step) => step !== null);
  let current = input;
  const readable = () => endpoint.readable?.(call, current) ?? null;
  const view = {
    texts: async () => given(await readable()?.texts()),
    canonical: async () => given(await readable()?.canonical()),
  };
  try {
    for (const step of running) {
      const verdict = (await step.request?.(view)) ?? null;
      if (verdict === null) continue;
      if ('refused' in verdict) return { refused: verdict.refused, headers: headersOf(running) };
      const { model, changes: texts = [] } = verdict;
      const changes = model === undefined ? texts : [...texts, { path: ['model'], text: model }];
      if (changes.length > 0) current = given(await readable()?.rewrite(changes)) ?? current;
    }
  } catch (error) {
    if (error instanceof FailureError) return { refused: error.failure, headers: headersOf(running) };
    throw error;
  }
  const says = running.some(({ headers }) => headers !== undefined);
  const filtered: ModelCall = {
    ...call,
    answerTexts: answerTextsOf(running),
    ...(says && { stepHeaders: () => headersOf(running), sink: new HeadedSink(call.sink, () => headersOf(running)) }),
  };
  if (current === input) return { call: filtered, input, value };
  const again = await endpoint.read(call, current);
  if (!again.ok) return { refused: again.failure, headers: headersOf(running) };
  await value.release();
  return { call: filtered, input: current, value: again.value };
}

function headersOf(running: readonly RunningStep[]): HeaderList {
  return running.flatMap(({ headers }) => headers?.() ?? []);
}

/** Adds what steps say to the headers: by then a whole answer has passed them. */
class HeadedSink implements Sink {
  readonly #next: Sink;
  readonly #headers: () => HeaderList;

  constructor(next: Sink, headers: () => HeaderList) {
    this.#next = next;
    this.#headers = headers;
  }

  get finished(): Promise<void> {
    return this.#next.finished ?? Promise.resolve();
  }

  start(form: AnswerForm, headers: HeaderList, status?: number): void {
    this.#next.start(form, [...headers, ...this.#headers()], status);
  }

  chunk(chunk: Bytes): Pace {
    return this.#next.chunk(chunk);
  }

  end(failed: Failed | null): void {
    this.#next.end(failed === null ? null : { ...failed, headers: [...failed.headers, ...this.#headers()] });
  }
}

function given<T>(result: Result<T> | undefined): T | null {
  if (result?.ok === false) throw new FailureError(result.failure);
  return result?.value ?? null;
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
  const through = (text: string | Failure) => (typeof text === 'string' ? second.push(text) : text);
  return {
    push: (text) => through(first.push(text)),
    end() {
      const rest = through(first.end());
      const last = typeof rest === 'string' ? second.end() : '';
      return typeof rest === 'string' && typeof last === 'string' ? rest + last : last || rest;
    },
  };
}
