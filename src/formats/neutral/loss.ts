import { type Failure, invalid } from '../../kernel/failure.ts';
import { type JsonObject, objectIn } from '../../kernel/json.ts';
import { folded } from '../../kernel/parse-object.ts';

/** One thing a conversion left out or changed. `field` is its path in the caller's own dialect, such as `seed`. */
export interface Loss {
  field: string;
  why: 'unknown' | 'unsupported' | 'clamped' | 'narrowed';
}

/** More of a request, which may have a hundred thousand, serve nobody, and would fill the books. */
const lossesMax = 1_000;

/** Members without a neutral place, each field once. */
export class Losses {
  readonly list: Loss[] = [];
  readonly #seen = new Set<string>();

  add(field: string, why: Loss['why']): void {
    if (this.#seen.has(field) || this.#seen.size >= lossesMax) return;
    this.#seen.add(field);
    this.list.push({ field, why });
  }

  /** Lists the members of an object that have a value and are not in `known`, as `path.member`. */
  addUnknown(holder: unknown, known: { has(name: string): boolean }, path: string): void {
    for (const [name, value] of Object.entries(objectIn(holder))) {
      if (!known.has(name) && isMeaningful(value)) this.add(`${path}.${name}`, 'unknown');
    }
  }
}

/** Notes that an encoder left a field out, once for each field. Gives null, in the place of what was left out. */
export function lose({ losses }: { losses: Loss[] }, field: string, why: Loss['why'] = 'unsupported'): null {
  if (losses.length < lossesMax && !losses.some((loss) => loss.field === field)) losses.push({ field, why });
  return null;
}

/** Takes members out of a body, in any case of letters: servers in Go read each. */
export function leaveOut(body: JsonObject, names: readonly string[] = []): Loss[] {
  const left = names.length === 0 ? [] : Object.keys(body).filter((name) => names.includes(folded(name)));
  for (const name of left) delete body[name];
  return left.map((field) => ({ field, why: 'unsupported' }));
}

/** Refuses a part whose omission would change the result: others may take it. The error names the field. Gives null. */
export function refuse(encoding: { failure: Failure | null }, field: string, message: string): null {
  encoding.failure ??= invalid(field, message);
  return null;
}

/**
 * Members of a request with a value that are not among `taken`: no format has a place for them. Null, false and what is
 * empty are no value.
 */
export function lossesOfRest(request: object, taken: ReadonlySet<string>): Loss[] {
  const losses: Loss[] = [];
  for (const [name, value] of Object.entries(request)) {
    if (!taken.has(name) && isMeaningful(value)) losses.push({ field: fieldOf(name), why: 'unsupported' });
  }
  return losses;
}

function isMeaningful(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

/** The field of a member of a request, as OpenAI spells fields. */
export function fieldOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Parts of an answer that the caller's format has no place for, as its encoder names them. */
export function lossesOf(parts: ReadonlySet<string> | undefined): Loss[] {
  return [...(parts ?? [])].map((field) => ({ field, why: 'unsupported' }));
}

/** Tells losses within a stream of events: a comment, which every reader skips. */
export function lossComment(losses: readonly Loss[]): string {
  return `: ${lossHeaderName}: ${lossHeader(losses)}\n\n`;
}

export const lossHeaderName = 'x-culvert-dropped';

/** `x-culvert-dropped`'s value; '' when nothing was lost. Names come from callers: only safe characters pass. */
export function lossHeader(losses: readonly Loss[]): string {
  const names = new Set(losses.map((loss) => loss.field.replace(/[^\w.[\]-]/g, '_').slice(0, 64)));
  return [...names].slice(0, 32).join(', ');
}
