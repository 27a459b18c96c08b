import type { JsonValue } from '../../kernel/json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';

/**
 * Asks a model of this server, with the body and the answer of OpenAI's moderations (`model`, and `input` as a list).
 * Rejects where there is none.
 */
export type Moderate = (body: JsonValue, signal: AbortSignal) => Promise<unknown>;

/** By the transport of a server: its models open after its guards. */
const openings = new WeakMap<Transport, () => Promise<Moderate>>();

/** Guards over this transport ask models so. `open`: at the first question. */
export function moderateBy(transport: Transport, open: () => Promise<Moderate>): void {
  let opening: Promise<Moderate> | null = null;
  openings.set(transport, () => {
    opening ??= open();
    return opening;
  });
}

/** Asks the models of the server that has this transport. */
export function moderateOver(transport: Transport): Moderate {
  return async (body, signal) => {
    const open = openings.get(transport);
    if (open === undefined) throw new Error('the models of this server have not opened');
    return (await open())(body, signal);
  };
}
