import { FailureError, invalid } from '../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { vectorOf } from '../check-vector.ts';
import { type CollectionSpec, type VectorSpec, vectorNamesOf, vectorSpecOf } from '../collection.ts';
import { kindOf, quoted, readObject, refuse } from '../filter/refuse.ts';
import type { VectorValue } from '../point.ts';
import { bm25Document, bm25Model, bm25Query, isBm25 } from '../text/bm25.ts';
import type { Embedded, TextsToEmbed } from '../vector-engine.ts';
import { optional, readString } from './read-scalars.ts';
import { readBm25Options } from './read-text-options.ts';
import { copyNumbers, readMultiVector, readSparseVector } from './read-vector-forms.ts';
import { refuseUnsupported } from './unsupported.ts';

/** Texts that one call may have embedded: as many as one call to /v1/embeddings. */
const textsMax = 2_048;
/** Numbers of the vectors of one call's texts: 64 MB. Fewer texts than above where vectors are longer than 8,192. */
const textNumbersMax = textsMax * 8_192;
export const modelCharsMax = 256;

/** A vector in a body: checked but not copied; sparse ones and multivectors are read. */
export type VectorSource =
  | { kind: 'numbers'; numbers: readonly JsonValue[] }
  | { kind: 'lifted'; numbers: Float32Array }
  | { kind: 'text'; text: string }
  | { kind: 'value'; value: VectorValue };

/** Vectors by the arrays that replace them in the parsed body (`liftVectors`). */
export type LiftedVectors = ReadonlyMap<unknown, Float32Array>;

/** Collections that one call looks points up in. */
const otherCollectionsMax = 100;

/** The member that names the embedding model of a text. */
interface NamedModel {
  model: string;
  at: string;
}

/**
 * The vectors of one call, each of the form that the collection has under its name. Texts get their place at once and
 * their numbers with `fill`: a request is whole, except for zeros, before anything is embedded.
 */
export class VectorReader {
  readonly #spec: CollectionSpec;
  readonly #purpose: TextsToEmbed['purpose'];
  readonly #lifted: LiftedVectors;
  /** The body's model, for all its texts. */
  #bodyModel: NamedModel | null = null;
  /** That of the texts read so far. */
  #used: string | null = null;
  /** Texts that were read, which may not have a place yet. */
  #textsRead = 0;
  /** Query texts of dense and sparse vectors. */
  readonly #worded = new Set<string>();
  readonly #texts: string[] = [];
  readonly #places: Float32Array[] = [];
  /** Other collections, whose points are named. */
  readonly #otherCollections = new Set<string>();

  /** `body`: its `model` or `embedding_model` is that of all its texts. Throws a FailureError (400). */
  constructor(spec: CollectionSpec, body: JsonObject, purpose: TextsToEmbed['purpose'], lifted: LiftedVectors) {
    this.#spec = spec;
    this.#purpose = purpose;
    this.#lifted = lifted;
    for (const at of ['model', 'embedding_model']) {
      if (optional(body[at])) continue;
      const model = readString(body[at], at, modelCharsMax);
      if (this.#bodyModel !== null && this.#bodyModel.model !== model)
        refuseTwoModels(at, this.#bodyModel.model, model);
      this.#bodyModel = { model, at };
      if (spec.embeddingModel !== null) this.#checkModel(spec.embeddingModel, this.#bodyModel);
    }
  }

  /** Throws a FailureError (400) for one too many. */
  lookIn(collection: string, at: string): void {
    this.#otherCollections.add(collection);
    if (this.#otherCollections.size > otherCollectionsMax)
      refuse(at, `at most ${otherCollectionsMax} other collections a call`);
  }

  get otherCollections(): ReadonlySet<string> {
    return this.#otherCollections;
  }

  get collection(): CollectionSpec {
    return this.#spec;
  }

  /** Names of the vectors whose texts could be embedded without saying by which model. */
  get namesWithModel(): string[] {
    return vectorNamesOf(this.#spec).filter((name) => {
      const spec = vectorSpecOf(this.#spec, name);
      if (spec === null || spec.kind === 'multi') return false;
      return spec.embeddingModel !== null || (name === '' && this.#bodyModel !== null);
    });
  }

  /** The one text that the call has, however often; null when it has none or several. */
  get wording(): string | null {
    const [only = null, second] = this.#worded;
    return second === undefined ? only : null;
  }

  get texts(): TextsToEmbed | null {
    if (this.#texts.length === 0) return null;
    return { model: this.#used!, purpose: this.#purpose, texts: this.#texts };
  }

  /** The spec of the vector of that name. Throws a FailureError (400) when the collection has none. */
  specOf(name: string, at: string): VectorSpec {
    return vectorOf(this.#spec, name, at);
  }

  /** Checks the form and length of a vector; numbers of a dense one are checked when they are copied. */
  look(value: JsonValue | undefined, at: string, name = ''): VectorSource {
    const spec = this.specOf(name, at);
    const lifted = this.#lifted.get(value);
    if (lifted !== undefined) {
      if (spec.kind === 'dense' && lifted.length === spec.size) return { kind: 'lifted', numbers: lifted };
      return this.look(Array.from(lifted), at, name);
    }
    if (isObject(value) && typeof value.text === 'string') return this.#document(value, at, name, spec);
    if (isObject(value) && ('image' in value || 'object' in value)) {
      refuseUnsupported(at, 'vectors of images and objects are', 'send {"text"}, or the vector');
    }
    if (isObject(value) && name === '' && Object.keys(value).join() === '' && '' in value) {
      return this.look(value[''], `${at}[""]`);
    }
    if (spec.kind === 'sparse') return { kind: 'value', value: readSparseVector(value, at) };
    if (spec.kind === 'multi') return { kind: 'value', value: readMultiVector(value, at, spec.size) };
    return lookDense(value, at, spec.size);
  }

  /** A text of the caller's, for a place such as `points[2].payload.text`; to be placed once. */
  text(value: JsonValue | undefined, at: string, name = ''): VectorSource {
    const spec = this.specOf(name, at);
    if (spec.kind === 'sparse') return this.#terms({ text: value }, at, spec, null, at);
    return this.#text(value, at, name, spec, null);
  }

  /** Puts a dense vector's `source` into `place`, now or with `fill`. */
  place(source: VectorSource, place: Float32Array, at: string): void {
    if (source.kind === 'numbers') copyNumbers(source.numbers, place, at);
    else if (source.kind === 'lifted') place.set(source.numbers);
    else if (source.kind === 'text') {
      this.#texts.push(source.text);
      this.#places.push(place);
    }
  }

  read(value: JsonValue | undefined, at: string, name = ''): VectorValue {
    return this.readSource(this.look(value, at, name), at, name);
  }

  readSource(source: VectorSource, at: string, name = ''): VectorValue {
    if (source.kind === 'value') return source.value;
    if (source.kind === 'lifted') return source.numbers;
    const spec = this.specOf(name, at);
    const vector = new Float32Array(spec.kind === 'sparse' ? 0 : spec.size);
    this.place(source, vector, at);
    return vector;
  }

  /** `embedded`: of `texts`. Throws a FailureError (400) where the model's vectors are not the collection's. */
  fill(embedded: Embedded): void {
    for (const [i, place] of this.#places.entries()) {
      if (embedded.size !== place.length) this.#refuseSize(embedded.size, place.length);
      place.set(embedded.vectors.subarray(i * embedded.size, (i + 1) * embedded.size));
    }
  }

  #refuseSize(given: number, held: number): never {
    const message = `The model ${quoted(this.#used!)} gives vectors of ${given} numbers, but the collection ${quoted(this.#spec.name)} holds vectors of ${held}.`;
    throw new FailureError(invalid('model', message));
  }

  #document(value: JsonObject, at: string, name: string, spec: VectorSpec): VectorSource {
    readObject(value, at, ['text', 'model', 'options']);
    const model = optional(value.model) ? null : readString(value.model, `${at}.model`, modelCharsMax);
    const named = model === null ? null : { model, at: `${at}.model` };
    if (spec.kind === 'sparse') return this.#terms(value, at, spec, named);
    if (!optional(value.options)) refuseUnsupported(`${at}.options`, 'options of a text are', 'leave them out');
    return this.#text(value.text, `${at}.text`, name, spec, named);
  }

  /** For a sparse vector: the built-in model's, made here and now. */
  #terms(
    { text, options }: JsonObject,
    at: string,
    { embeddingModel }: Extract<VectorSpec, { kind: 'sparse' }>,
    named: NamedModel | null,
    textAt = `${at}.text`,
  ): VectorSource {
    const model = named?.model ?? embeddingModel;
    if (model === null) refuse(at, `name the model of the sparse vector in 'model': '${bm25Model}'`);
    if (!isBm25(model))
      refuse(named?.at ?? at, `a sparse vector takes texts of '${bm25Model}', not of ${quoted(model)}`);
    const bm25 = readBm25Options(options, `${at}.options`);
    const words = readString(text, textAt, Number.POSITIVE_INFINITY);
    if (this.#purpose === 'query') this.#worded.add(words);
    const embed = this.#purpose === 'document' ? bm25Document : bm25Query;
    return { kind: 'value', value: embed(words, bm25) };
  }

  #text(
    value: JsonValue | undefined,
    at: string,
    name: string,
    spec: VectorSpec,
    named: NamedModel | null,
  ): VectorSource {
    if (spec.kind !== 'dense') {
      refuseUnsupported(at, `texts for the ${spec.kind} vector ${quoted(name)} are`, 'send the vector');
    }
    this.#useModel(spec.embeddingModel, named, at);
    const text = readString(value, at, Number.POSITIVE_INFINITY);
    if (this.#purpose === 'query') this.#worded.add(text);
    // Before anybody takes memory for their vectors.
    const most = Math.min(textsMax, Math.max(1, Math.floor(textNumbersMax / spec.size)));
    if (++this.#textsRead > most) {
      refuse(at, `at most ${most} texts a call are embedded for vectors of ${spec.size} numbers; split the call`);
    }
    return { kind: 'text', text };
  }

  #useModel(collectionModel: string | null, named: NamedModel | null, at: string): void {
    if (named !== null && this.#bodyModel !== null && named.model !== this.#bodyModel.model) {
      refuseTwoModels(named.at, this.#bodyModel.model, named.model);
    }
    const explicit = named ?? this.#bodyModel;
    if (collectionModel !== null && explicit !== null) this.#checkModel(collectionModel, explicit);
    const model = explicit?.model ?? collectionModel;
    if (model === null) {
      refuse(at, `name the embedding model in 'model': the collection ${quoted(this.#spec.name)} has none`);
    }
    if (this.#used !== null && this.#used !== model) refuseTwoModels(explicit?.at ?? at, this.#used, model);
    this.#used = model;
  }

  #checkModel(collectionModel: string, { model, at }: NamedModel): void {
    if (model === collectionModel) return;
    refuse(
      at,
      `the collection ${quoted(this.#spec.name)} holds vectors of ${quoted(collectionModel)}, and vectors of ${quoted(model)} cannot be compared with them`,
    );
  }
}

function refuseTwoModels(at: string, one: string, other: string): never {
  refuse(at, `one call embeds with one model: ${quoted(one)} or ${quoted(other)}`);
}

function lookDense(value: JsonValue | undefined, at: string, size: number): VectorSource {
  if (Array.isArray(value)) {
    if (Array.isArray(value[0])) {
      refuse(at, `expected ${size} numbers, got an array of arrays: a multivector needs a multivector_config`);
    }
    if (value.length !== size) refuse(at, `expected ${size} numbers, got ${value.length}`);
    return { kind: 'numbers', numbers: value };
  }
  if (isObject(value) && ('indices' in value || 'values' in value)) {
    refuse(at, `expected an array of ${size} numbers, got a sparse vector: name one of sparse_vectors`);
  }
  return refuse(at, `expected an array of ${size} numbers or {"text"}, got ${kindOf(value)}`);
}
