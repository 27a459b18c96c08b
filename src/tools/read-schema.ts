import { FailureError } from '../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../kernel/json.ts';
import { ToolFields } from './tool-fields.ts';

/**
 * JSON Schema of the members that a reader of tool requests asks for. It is found by running the reader, first on
 * nothing, then with the members that it refused to do without. A member read by `value` alone may be anything here.
 */
export function schemaOfReads(read: (fields: ToolFields) => unknown): JsonObject {
  const given: JsonObject = {};
  const required = new Map<string, string>();
  for (;;) {
    const noted = new NotedFields(given);
    try {
      read(noted);
      return noted.schema(required);
    } catch (error) {
      const missing = error instanceof FailureError && error.failure.kind === 'invalid-request' ? error.failure : null;
      if (missing?.param == null || required.has(missing.param)) throw error;
      required.set(missing.param, missing.message);
      given[missing.param] = noted.sampleOf(missing.param);
    }
  }
}

const sample = 'https://example.org/';

/** Fields that note the requests for them. */
class NotedFields extends ToolFields {
  readonly #noted = new Map<string, () => JsonObject>();

  sampleOf(name: string): JsonValue {
    return this.#noted.get(name)?.().type === 'array' ? [sample] : sample;
  }

  schema(required: ReadonlyMap<string, string> = new Map()): JsonObject {
    const properties = Object.fromEntries(
      [...this.#noted].map(([name, schema]) => {
        const description = required.get(name);
        return [name, { ...(description !== undefined && { description }), ...schema() }];
      }),
    );
    return { type: 'object', properties, ...(required.size > 0 && { required: [...required.keys()] }) };
  }

  #note(name: string, schema: JsonObject): void {
    this.#noted.set(name, () => schema);
  }

  override value(name: string): JsonValue | undefined {
    if (!this.#noted.has(name)) this.#note(name, {});
    return super.value(name);
  }

  override text(name: string, chars: { min: number; max: number }): string | null {
    this.#note(name, { type: 'string', minLength: chars.min, maxLength: chars.max });
    return super.text(name, chars);
  }

  override whole(name: string, bounds: { min: number; max: number; default: number }): number {
    const { min: minimum, max: maximum, default: absent } = bounds;
    const outside = absent < minimum || absent > maximum;
    this.#note(name, { type: 'integer', minimum, maximum, ...(!outside && { default: absent }) });
    return super.whole(name, bounds);
  }

  override truth(name: string, absent: boolean): boolean {
    this.#note(name, { type: 'boolean', default: absent });
    return super.truth(name, absent);
  }

  override oneOf<T extends string>(name: string, words: readonly T[]): T | null {
    this.#note(name, { type: 'string', enum: [...words] });
    return super.oneOf(name, words);
  }

  override texts(name: string, bounds: { itemsMax: number; charsMax: number }): readonly string[] | null {
    const items = { type: 'string', minLength: 1, maxLength: bounds.charsMax };
    this.#note(name, { type: 'array', items, maxItems: bounds.itemsMax });
    return super.texts(name, bounds);
  }

  /** Reads a missing one as present and empty, so that its own members are noted. */
  override object(name: string): ToolFields {
    const inner = new NotedFields({}, this.pathOf(name));
    this.#noted.set(name, () => inner.schema());
    return inner;
  }
}
