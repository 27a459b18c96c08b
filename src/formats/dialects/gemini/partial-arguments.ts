import { isObject, type JsonObject, type JsonValue, listIn } from '../../../kernel/json.ts';

/** Members and elements on the way to one value. */
const stepsMax = 64;
/** Maximum number of pieces of one call; a call of a model has some dozens. */
const piecesMax = 100_000;

/**
 * The arguments of one call that Vertex AI streams (`streamFunctionCallArguments`): pieces (`PartialArg` of
 * @google/genai 3.1) of values, each with the JSON Path of its place. Pieces that name no place are left out.
 */
export class PartialArguments {
  readonly #root: JsonObject = {};
  /** Place of the string that goes on. */
  #growing: string | null = null;
  #pieces = 0;

  add(partialArgs: JsonValue | undefined): void {
    for (const piece of listIn(partialArgs)) {
      this.#pieces += 1;
      if (isObject(piece) && this.#pieces <= piecesMax) this.#put(piece);
    }
  }

  json(): string {
    return JSON.stringify(this.#root);
  }

  #put(piece: JsonObject): void {
    const { jsonPath, willContinue } = piece;
    if (typeof jsonPath !== 'string') return;
    const steps = stepsOf(jsonPath);
    if (steps === null) return;
    const holder = this.#holderOf(steps);
    const last = steps.at(-1);
    if (holder === null || last === undefined || !fits(holder, last)) return;
    const before = memberOf(holder, last);
    const value = wireValue(piece);
    const joins = this.#growing === jsonPath && typeof before === 'string' && typeof value === 'string';
    define(holder, last, joins ? before + value : value);
    this.#growing = willContinue === true ? jsonPath : null;
  }

  /** The object or array that has the last step; null: something else is in its place. */
  #holderOf(steps: readonly Step[]): JsonObject | JsonValue[] | null {
    let holder: JsonObject | JsonValue[] = this.#root;
    for (const [index, step] of steps.slice(0, -1).entries()) {
      if (!fits(holder, step)) return null;
      let next: JsonValue | undefined = memberOf(holder, step);
      if (next === undefined) {
        next = typeof steps[index + 1] === 'number' ? [] : {};
        define(holder, step, next);
      }
      if (!isObject(next) && !Array.isArray(next)) return null;
      holder = next;
    }
    return holder;
  }
}

type Step = string | number;

/** Elements come in their order, so that no array has holes. */
function fits(holder: JsonObject | JsonValue[], step: Step): boolean {
  return Array.isArray(holder) ? typeof step === 'number' && step <= holder.length : typeof step === 'string';
}

function memberOf(holder: JsonObject | JsonValue[], step: Step): JsonValue | undefined {
  return Object.hasOwn(holder, step) ? (holder as Record<Step, JsonValue>)[step] : undefined;
}

/** `__proto__` is a plain member too. */
function define(holder: JsonObject | JsonValue[], step: Step, value: JsonValue): void {
  Object.defineProperty(holder, step, { value, enumerable: true, configurable: true, writable: true });
}

/** Protobuf leaves an empty string out. */
function wireValue({ stringValue, numberValue, boolValue, nullValue }: JsonObject): JsonValue {
  if (nullValue !== undefined) return null;
  return numberValue ?? boolValue ?? stringValue ?? '';
}

const stepPattern = /\.([^.[\]]+)|\[(\d{1,6})\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/y;

/** A normalized or plain path of RFC 9535, such as `$.foo.bar[0]['a b']`; null: another. */
function stepsOf(path: string): Step[] | null {
  if (!path.startsWith('$')) return null;
  const steps: Step[] = [];
  stepPattern.lastIndex = 1;
  while (stepPattern.lastIndex < path.length) {
    const found = stepPattern.exec(path);
    if (found === null || steps.length === stepsMax) return null;
    const [, member, index, single, double = ''] = found;
    if (index !== undefined) steps.push(Number(index));
    else steps.push(member ?? (single ?? double).replace(/\\(.)/g, '$1'));
  }
  return steps.length === 0 ? null : steps;
}
