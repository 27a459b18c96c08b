import { FailureError, invalid } from '../kernel/failure.ts';
import { isObject, isWhole, type JsonObject, type JsonValue } from '../kernel/json.ts';

/** Members by which SDKs name themselves in every call: neither used nor worth a warning. */
const sdkMembers = ['origin', 'integration'];
/** Members that Firecrawl's SDK for Python always sends: with exactly these values they are not worth a warning. */
const sentUnasked: Readonly<Record<string, boolean>> = {
  blockAds: true,
  deduplicateSimilarURLs: true,
  fastMode: false,
  removeBase64Images: true,
  skipTlsVerification: true,
  storeInCache: true,
  zeroDataRetention: false,
};
const listedUnknownMax = 20;

/**
 * The members of a tools request, read one by one. A wrong one throws a FailureError (400 that names it); `null` counts
 * as absent. A member that nobody has read at the end is unknown: it is ignored, and listed in the answer's `warning`.
 */
export class ToolFields {
  readonly #object: JsonObject;
  readonly #at: string;
  readonly #known = new Set<string>(sdkMembers);
  readonly #inner: ToolFields[] = [];

  /** `at`: path of the object in the request, '' for the whole. */
  constructor(object: JsonObject, at = '') {
    this.#object = object;
    this.#at = at;
  }

  /** The member's path, for messages. */
  pathOf(name: string): string {
    return this.#at === '' ? name : `${this.#at}.${name}`;
  }

  /** The member unchanged; undefined when absent. */
  value(name: string): JsonValue | undefined {
    this.#known.add(name);
    return Object.hasOwn(this.#object, name) ? (this.#object[name] ?? undefined) : undefined;
  }

  text(name: string, chars: { min: number; max: number }): string | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (typeof value === 'string' && value.length >= chars.min && value.length <= chars.max) return value;
    return this.refuse(name, `a string of ${chars.min} to ${chars.max} characters`);
  }

  whole(name: string, bounds: { min: number; max: number; default: number }): number {
    const value = this.value(name);
    if (value === undefined) return bounds.default;
    if (isWhole(value, bounds.min, bounds.max)) return value;
    return this.refuse(name, `a whole number from ${bounds.min} to ${bounds.max}`);
  }

  truth(name: string, absent: boolean): boolean {
    const value = this.value(name);
    if (value === undefined) return absent;
    return typeof value === 'boolean' ? value : this.refuse(name, 'true or false');
  }

  oneOf<T extends string>(name: string, words: readonly T[]): T | null {
    const value = this.value(name);
    if (value === undefined) return null;
    const word = words.find((one) => one === value);
    return word ?? this.refuse(name, `one of ${words.join(', ')}`);
  }

  texts(name: string, bounds: { itemsMax: number; charsMax: number }): readonly string[] | null {
    const value = this.value(name);
    if (value === undefined) return null;
    const fit = (item: JsonValue) => typeof item === 'string' && item !== '' && item.length <= bounds.charsMax;
    if (Array.isArray(value) && value.length <= bounds.itemsMax && value.every(fit)) return value as string[];
    return this.refuse(name, `an array of at most ${bounds.itemsMax} strings of 1 to ${bounds.charsMax} characters`);
  }

  /** An object with its own members; its unknown ones are listed with ours. */
  object(name: string): ToolFields | null {
    const value = this.value(name);
    if (value === undefined) return null;
    if (!isObject(value)) return this.refuse(name, 'an object');
    const inner = new ToolFields(value, this.pathOf(name));
    this.#inner.push(inner);
    return inner;
  }

  refuse(name: string, expected: string): never {
    const path = this.pathOf(name);
    throw new FailureError(invalid(path, `'${path}' must be ${expected}.`));
  }

  /** Paths that nobody read. */
  unknown(): string[] {
    const isUnasked = (name: string) => Object.hasOwn(sentUnasked, name) && this.#object[name] === sentUnasked[name];
    const unknown = Object.keys(this.#object).filter((name) => !this.#known.has(name) && !isUnasked(name));
    return [...unknown.map((name) => this.pathOf(name)), ...this.#inner.flatMap((inner) => inner.unknown())];
  }

  /** For `warning`; null when everything was known. */
  unknownWarning(): string | null {
    const unknown = this.unknown();
    if (unknown.length === 0) return null;
    const shown = unknown.slice(0, listedUnknownMax).map((name) => name.slice(0, 100));
    const more = unknown.length > shown.length ? ` and ${unknown.length - shown.length} more` : '';
    return `These fields are unknown and were ignored: ${shown.join(', ')}${more}.`;
  }
}
