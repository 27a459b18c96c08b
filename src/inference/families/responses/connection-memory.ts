import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { inputItems, itemsOf, sentAgain, storedItems, withoutRepeatedCalls } from './input-items.ts';
import { outputOf, saltOfId } from './stored-responses.ts';

/** Items of one connection; a conversation with more is not remembered. */
const charsMax = 8 * 1024 * 1024;
/** Characters that the connections of one tenant remember together. */
const tenantCharsMax = 64 * 1024 * 1024;

/** Connections of one tenant to this process. */
export interface TenantShare {
  connections: number;
  /** Characters that they remember. */
  chars: number;
}

/** The last response of a connection, kept nowhere else, so that `previous_response_id` may continue it. */
export class ConnectionMemory {
  readonly #share: TenantShare;
  #id: string | null = null;
  /** JSON of all items up to the end of that response. */
  #items = '[]';

  constructor(share: TenantShare) {
    this.#share = share;
  }

  /** The body with the items that it continues, in place of their id; as it is where it continues nothing of here. */
  continued(body: JsonObject): JsonObject {
    const { previous_response_id: previous, ...rest } = body;
    if (previous === undefined || previous === null || previous !== this.#id) return body;
    const before = (JSON.parse(this.#items) as unknown[]).filter(isObject);
    return { ...rest, input: withoutRepeatedCalls([...before, ...inputItems(rest.input)]) };
  }

  /** `body`: as it was sent to the model. `response`: its answer, with its id. */
  keep(body: JsonObject, response: JsonObject, requestId: string): void {
    const remembered = { input: storedItems(body.input, saltOfId(requestId)), response };
    const items = JSON.stringify(sentAgain(itemsOf([remembered])));
    this.forget();
    const isSmall = items.length <= charsMax && this.#share.chars + items.length <= tenantCharsMax;
    if (!isSmall || typeof response.id !== 'string' || !Array.isArray(outputOf(response))) return;
    this.#id = response.id;
    this.#items = items;
    this.#share.chars += items.length;
  }

  forget(): void {
    if (this.#id !== null) this.#share.chars -= this.#items.length;
    this.#id = null;
    this.#items = '[]';
  }
}
