import { FailureError, invalid } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { isObject } from '../../kernel/json.ts';
import type { CollectionSpec } from '../collection.ts';
import type { Embedded, TextsToEmbed } from '../engine.ts';
import { kindOf, quoted, readObject, refuse } from '../filter/refuse.ts';
import { optional, readString, shown } from './read-scalars.ts';
import { refuseUnsupported } from './unsupported.ts';

/** Texts that one call may have embedded: as many as one call to /v1/embeddings. */
const textsMax = 2_048;
/** Numbers of the vectors of one call's texts: 64 MB. Fewer texts than above where vectors are longer than 8,192. */
const textNumbersMax = textsMax * 8_192;
export const modelCharsMax = 256;

/** A vector as it stands in a body, looked at but not copied. */
export type VectorSource = { kind: 'numbers'; numbers: readonly JsonValue[] } | { kind: 'text'; text: string };

/**
 * The vectors of one call, all of the collection's length. Texts get their place at once and their numbers with `fill`:
 * a request is whole, but for zeros, before anything is embedded.
 */
export class VectorReader {
  readonly #spec: CollectionSpec;
  readonly #purpose: TextsToEmbed['purpose'];
  #model: string | null;
  /** Texts that were read, which may not have a place yet. */
  #textsRead = 0;
  readonly #texts: string[] = [];
  readonly #places: Float32Array[] = [];

  /** `body`: its `model` or `embedding_model` is that of all its texts. Throws a FailureError (400). */
  constructor(spec: CollectionSpec, body: JsonObject, purpose: TextsToEmbed['purpose']) {
    this.#spec = spec;
    this.#purpose = purpose;
    this.#model = spec.embeddingModel;
    for (const field of ['model', 'embedding_model']) if (!optional(body[field])) this.#useModel(body[field], field);
  }

  /** Whether a text could be embedded without saying by which model. */
  get hasModel(): boolean {
    return this.#model !== null;
  }

  get texts(): TextsToEmbed | null {
    if (this.#texts.length === 0) return null;
    return { model: this.#model!, purpose: this.#purpose, texts: this.#texts };
  }

  /** Checks the form and length of a vector; its numbers are checked when they are copied. */
  look(value: JsonValue | undefined, at: string): VectorSource {
    if (Array.isArray(value)) {
      if (Array.isArray(value[0])) {
        refuseUnsupported(at, 'multivectors are', 'write a point for each vector, with a payload key that joins them');
      }
      if (value.length !== this.#spec.size) refuse(at, `expected ${this.#spec.size} numbers, got ${value.length}`);
      return { kind: 'numbers', numbers: value };
    }
    if (!isObject(value))
      refuse(at, `expected an array of ${this.#spec.size} numbers or {"text"}, got ${kindOf(value)}`);
    if ('text' in value) return this.#document(value, at);
    if ('image' in value || 'object' in value) {
      refuseUnsupported(at, 'vectors of images and objects are', 'send {"text"}, or the vector');
    }
    if ('indices' in value || 'values' in value) refuseSparse(at);
    const names = Object.keys(value);
    if (names.length === 1 && names[0] === '') return this.look(value[''], `${at}[""]`);
    if (names.length === 0) refuse(at, `expected an array of ${this.#spec.size} numbers, got an empty object`);
    return refuseUnsupported(
      `${at}.${names[0]!.slice(0, 64)}`,
      'named vectors are',
      'make one collection for each kind of vector',
    );
  }

  /** A text of the caller's, for a place such as `points[2].payload.text`; to be placed once. */
  text(value: JsonValue | undefined, at: string): VectorSource {
    const text = readString(value, at, Number.POSITIVE_INFINITY);
    const { name, size } = this.#spec;
    if (this.#model === null) {
      refuse(at, `name the embedding model in 'model': the collection ${quoted(name)} has none of its own`);
    }
    // Before anybody takes memory for their vectors.
    const most = Math.min(textsMax, Math.max(1, Math.floor(textNumbersMax / size)));
    if (++this.#textsRead > most) {
      refuse(at, `at most ${most} texts a call are embedded for vectors of ${size} numbers; split the call`);
    }
    return { kind: 'text', text };
  }

  /** Puts `source` into `place`, now or with `fill`. */
  place(source: VectorSource, place: Float32Array, at: string): void {
    if (source.kind === 'numbers') {
      copyNumbers(source.numbers, place, at);
      return;
    }
    this.#texts.push(source.text);
    this.#places.push(place);
  }

  read(value: JsonValue | undefined, at: string): Float32Array {
    return this.readSource(this.look(value, at), at);
  }

  readSource(source: VectorSource, at: string): Float32Array {
    const vector = new Float32Array(this.#spec.size);
    this.place(source, vector, at);
    return vector;
  }

  /** `embedded`: of `texts`. Throws a FailureError (400) where the model's vectors are not the collection's. */
  fill(embedded: Embedded): void {
    const { name, size } = this.#spec;
    if (embedded.size !== size) {
      const message = `The model ${quoted(this.#model!)} gives vectors of ${embedded.size} numbers, the collection ${quoted(name)} holds vectors of ${size}.`;
      throw new FailureError(invalid('model', message));
    }
    for (const [i, place] of this.#places.entries()) {
      place.set(embedded.vectors.subarray(i * size, (i + 1) * size));
    }
  }

  #document(value: JsonObject, at: string): VectorSource {
    readObject(value, at, ['text', 'model', 'options']);
    if (!optional(value.options)) {
      refuseUnsupported(`${at}.options`, 'options of a text are', 'leave them out');
    }
    if (!optional(value.model)) this.#useModel(value.model, `${at}.model`);
    return this.text(value.text, `${at}.text`);
  }

  #useModel(value: JsonValue | undefined, at: string): void {
    const model = readString(value, at, modelCharsMax);
    const own = this.#spec.embeddingModel;
    if (own !== null && model !== own) {
      refuse(
        at,
        `the collection ${quoted(this.#spec.name)} holds vectors of ${quoted(own)}; those of ${quoted(model)} do not compare with them`,
      );
    }
    if (this.#model !== null && this.#model !== model) {
      refuse(at, `one call embeds with one model: ${quoted(this.#model)} or ${quoted(model)}`);
    }
    this.#model = model;
  }
}

function refuseSparse(at: string): never {
  refuseUnsupported(at, 'sparse vectors are', 'send an array with all numbers');
}

/** Numbers beyond 32-bit floats are refused: they would be infinite, and so would every score. */
function copyNumbers(numbers: readonly JsonValue[], into: Float32Array, at: string): void {
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i];
    if (typeof number !== 'number') refuse(`${at}[${i}]`, `expected a number, got ${kindOf(number)}`);
    into[i] = number;
    if (!Number.isFinite(into[i])) {
      refuse(`${at}[${i}]`, `expected a number within ±3.4e38 (32-bit floats), got ${shown(number)}`);
    }
  }
}
