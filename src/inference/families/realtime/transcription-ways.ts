import type { Fault } from '../../../formats/neutral/outcome.ts';
import type { ConfiguredProvider } from '../../models/connections.ts';
import { PassingSink } from '../../spine/passing-sink.ts';
import type { Failed } from '../../spine/sink.ts';

/** Providers that turned out to hold no sessions of transcriptions, until the configuration changes. */
const lacking = new WeakSet<ConfiguredProvider>();

/** Whether a provider holds sessions of transcriptions, by its type and as far as it has been asked. */
export function holdsTranscriptions(to: ConfiguredProvider | undefined): boolean {
  return to?.connection.provider.realtime?.transcriptions !== undefined && !lacking.has(to);
}

/** Statuses of servers that took over a part of OpenAI's API, and have no such address. */
const noAddress: ReadonlySet<number | null> = new Set([404, 405, 501]);

/**
 * The sink of an attempt to open a session: a refusal goes on, unless every provider that was asked has no such address.
 */
export class TranscriptionWays extends PassingSink {
  /** Each piece of speech has to be a call. */
  isByCalls = false;
  #attempts = 0;
  #lacking = 0;

  /** Notes how a provider refused a session. */
  missed(to: ConfiguredProvider, { status, code }: Fault): void {
    this.#attempts += 1;
    if (!noAddress.has(status) || code === 'model_not_found') return;
    this.#lacking += 1;
    lacking.add(to);
  }

  override end(failed: Failed | null): void {
    this.isByCalls = failed !== null && this.#attempts > 0 && this.#attempts === this.#lacking;
    if (!this.isByCalls) this.next.end(failed);
  }
}
