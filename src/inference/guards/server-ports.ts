import type { DataRule } from '../../config/data-rules.ts';
import type { NearestExample } from '../../guards/outside/topics.ts';
import type { SchemaCheck } from '../../guards/schema-check.ts';
import type { JsonValue } from '../../kernel/json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';

/** Bounds of a question to this server. `rules`: data rules of the caller whose texts it has. */
export interface QuestionBounds {
  signal: AbortSignal;
  rules: readonly DataRule[];
}

/**
 * Asks a model of this server, with the body and the answer of OpenAI's moderations (`model`, and `input` as a list).
 * Rejects where there is none, and with a FailureError `rule-refused` where the rules leave none.
 */
export type Moderate = (body: JsonValue, bounds: QuestionBounds) => Promise<unknown>;

/** Parts of the server that guards ask, and that open after them. */
export interface ServerPorts {
  moderate: Moderate;
  schemas: Pick<SchemaCheck, 'look'>;
  /** Vectors of texts; null: none in so many ms. Rejects with a FailureError where the data rules leave no target. */
  embed(
    model: string,
    texts: readonly string[],
    ms: number,
    rules: readonly DataRule[],
  ): Promise<readonly (readonly number[])[] | null>;
  /** The points nearest to texts, in a collection `ACCOUNT/KEY/NAME`; null: it is empty. Rejects. */
  nearest(
    collection: string,
    texts: readonly string[],
    rules: readonly DataRule[],
  ): Promise<readonly (NearestExample | null)[]>;
}

/** By the transport of a server. */
const openings = new WeakMap<Transport, () => Promise<ServerPorts>>();

/** Guards over this transport ask these. `open`: at the first question. */
export function servePorts(transport: Transport, open: () => Promise<ServerPorts>): void {
  let opening: Promise<ServerPorts> | null = null;
  openings.set(transport, () => {
    opening ??= open();
    return opening;
  });
}

/** The ports of the server that has this transport. Rejects where they have not opened. */
export async function portsOver(transport: Transport): Promise<ServerPorts> {
  const open = openings.get(transport);
  if (open === undefined) throw new Error('the models of this server have not opened');
  return await open();
}
