import type { TracedAttempt, TracedRecord, TracedStep, TraceEnd } from '../../kernel/trace.ts';
import { finishOf, names, operationOf, providerOf } from './semantic-conventions.ts';
import { type SharedPart, sharedPart } from './span-writer.ts';

/** Shared parts that are kept; beyond it they are made again. */
const sharedMax = 1_000;
const messageCharsMax = 200;

/** Result of a whole request. */
export interface RequestFacts {
  end: TraceEnd;
  record: TracedRecord | null;
  refused: string | null;
}

type Fact = string | number | boolean | null | undefined;

/** Encoded parts by the facts that they are made of. Mostly they are those of the part before. */
export class SharedParts<T> {
  readonly #factsOf: (of: T) => readonly Fact[];
  readonly #make: (of: T) => SharedPart;
  readonly #parts = new Map<string, { facts: readonly Fact[]; part: SharedPart }>();
  #last: { facts: readonly Fact[]; part: SharedPart } | null = null;

  constructor(factsOf: (of: T) => readonly Fact[], make: (of: T) => SharedPart) {
    this.#factsOf = factsOf;
    this.#make = make;
  }

  of(one: T): SharedPart {
    const facts = this.#factsOf(one);
    if (this.#last !== null && areSame(this.#last.facts, facts)) return this.#last.part;
    const key = facts.join('\n');
    let found = this.#parts.get(key);
    // A provider's message may hold a line feed, so that other facts have the same key.
    if (found === undefined || !areSame(found.facts, facts)) {
      if (this.#parts.size >= sharedMax) this.#parts.clear();
      found = { facts, part: this.#make(one) };
      this.#parts.set(key, found);
    }
    this.#last = found;
    return found.part;
  }
}

function areSame(a: readonly Fact[], b: readonly Fact[]): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < b.length; at += 1) if (a[at] !== b[at]) return false;
  return true;
}

/** Attributes that differ between steps of a request. */
export function stepFacts({ name, error }: TracedStep): readonly Fact[] {
  return [name, error];
}

/** The name, the attributes and the status of a step of a request, encoded. */
export function stepPart({ name, error }: TracedStep, database: string): SharedPart {
  const attributes = { [names.database]: name === 'reserve' || name === 'settle' ? database : null };
  return sharedPart({ name, kind: 'internal', attributes: { ...attributes, [names.errorType]: error }, error });
}

/** Attributes that differ between attempts. */
export function attemptFacts(a: TracedAttempt): readonly Fact[] {
  const attributes = [a.endpoint, a.provider, a.origin, a.credential, a.model, a.number, a.hedge, a.streamed];
  return [...attributes, a.answeredAs, a.finishReason, a.status, a.class, a.message, a.usageSource];
}

/** The name, the attributes and the status of an attempt, encoded. */
export function attemptPart(attempt: TracedAttempt): SharedPart {
  const operation = operationOf(attempt.endpoint);
  const { class: end, message, origin, finishReason } = attempt;
  const failed = end !== 'ok';
  return sharedPart({
    name: `${operation.name} ${attempt.model}`,
    kind: origin === null ? 'internal' : 'client',
    attributes: {
      [names.operation]: operation.name,
      [names.outputType]: operation.output,
      [names.provider]: providerOf(attempt.type),
      [names.requestModel]: attempt.model,
      [names.requestStream]: attempt.streamed,
      [names.responseModel]: attempt.answeredAs,
      [names.finishReasons]: finishReason === null ? null : [finishOf(finishReason)],
      ...serverOf(origin),
      [names.status]: attempt.status,
      [names.errorType]: failed ? end : null,
      [names.spanKind]: operation.kind,
      [names.endpoint]: attempt.endpoint,
      [names.upstream]: attempt.provider,
      [names.credential]: attempt.credential,
      [names.attempt]: attempt.number,
      [names.hedge]: attempt.hedge,
      [names.usageSource]: attempt.usageSource,
    },
    // An attempt that was given up, because another was faster or the caller left, is not an error.
    error: failed && end !== 'cancelled' ? (message ?? '').slice(0, messageCharsMax) : null,
  });
}

/** Address and port of the server behind an origin; none for models of this process. */
export function serverOf(origin: string | null): Record<string, string | number> {
  if (origin === null) return {};
  const { hostname, port, protocol } = new URL(origin);
  return {
    [names.serverAddress]: hostname,
    [names.serverPort]: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
  };
}

/** Attributes that differ between requests. */
export function requestFacts({ end, record, refused }: RequestFacts): readonly Fact[] {
  const { method, route, status, account, keyId } = end;
  const recorded =
    record === null ? [] : [record.endpoint, record.alias, record.target, record.class, record.costMilli];
  return [method, route, status, account, keyId, refused, ...recorded];
}

/** The name, the attributes and the status of a request, encoded. */
export function requestPart({ end, record, refused }: RequestFacts): SharedPart {
  const { method, route, status, account, keyId } = end;
  const came = record?.class ?? refused ?? 'ok';
  const failed = came !== 'ok';
  return sharedPart({
    name: method === null ? route : `${method} ${route}`,
    kind: method === null ? 'internal' : 'server',
    attributes: {
      [names.method]: method,
      [names.route]: method === null ? null : route,
      [names.status]: method === null ? null : status,
      [names.errorType]: failed ? came : status >= 500 ? String(status) : null,
      [names.spanKind]: 'CHAIN',
      [names.account]: account === '' ? null : account,
      [names.keyId]: keyId === '' ? null : keyId,
      [names.endpoint]: record?.endpoint,
      [names.model]: record?.alias,
      [names.target]: record?.target,
      [names.class]: record?.class,
      [names.units]: record === null ? null : record.costMilli / 1_000,
    },
    // A mistake of the caller is not an error of this server.
    error: status >= 500 || (failed && came !== 'aborted' && status < 400) ? '' : null,
  });
}
