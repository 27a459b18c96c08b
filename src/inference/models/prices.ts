import type { Config } from '../../config/schema.ts';
import { type Clock, dayMs } from '../../kernel/clock.ts';
import { getJson } from '../../upstream/transport/get-json.ts';
import type { Transport } from '../../upstream/transport/upstream-call.ts';
import type { ConfiguredProvider } from './connections.ts';
import { installedPrices, newestPricesUrl, type PriceList, takePrices } from './price-list.ts';
import { hasListPrices } from './target-of.ts';

export interface PricesParts {
  transport: Transport;
  clock: Clock;
  saved: SavedPrices;
  warn(message: string): void;
}

/** Where the newest list is kept that was taken over. */
export interface SavedPrices {
  /** For messages. */
  name: string;
  /** Undefined: there is none. Throws what reading it throws. */
  read(): string | undefined;
  write(text: string): void;
  /** When it was written, in ms of the wall clock; -Infinity: never. */
  writtenMs(): number;
}

/** The price list in force. A warning says what could not be loaded or updated; the earlier list then stays in force. */
export type Prices = ReturnType<typeof createPrices>;

const updateTimeoutMs = 30_000;

export function createPrices({ transport, clock, saved, warn }: PricesParts) {
  let list: PriceList | null = null;
  let source: 'none' | 'installed' | 'saved' = 'none';
  let fetchedMs = Number.NEGATIVE_INFINITY;

  async function take(text: string): Promise<boolean> {
    list = await takePrices(JSON.parse(text));
    source = 'saved';
    return true;
  }

  async function takeSaved(): Promise<boolean> {
    try {
      const text = saved.read();
      return text !== undefined && (await take(text));
    } catch (error) {
      warn(`the price list in ${saved.name} cannot be used: ${String(error)}`);
      return false;
    }
  }

  return {
    /** Null: no provider needed one so far. */
    get list(): PriceList | null {
      return list;
    },

    /** Loads the list that the configuration wants, where a provider needs one. True: another one is in force now. */
    async load({ prices }: Config, providers: Iterable<ConfiguredProvider>): Promise<boolean> {
      if (source === 'none' && ![...providers].some(hasListPrices)) return false;
      if (source === (prices.update ? 'saved' : 'installed')) return false;
      if (prices.update && (await takeSaved())) return true;
      if (source === 'installed') return false;
      try {
        list = await installedPrices();
        source = 'installed';
        return true;
      } catch (error) {
        warn(`the price list cannot be loaded: ${String(error)}`);
        return false;
      }
    },

    /** Asks for the newest list where the configuration wants that and a day has passed. True: it is in force now. */
    async update({ prices }: Config): Promise<boolean> {
      const nowMs = clock.wallMs();
      if (!prices.update || source === 'none' || nowMs - Math.max(fetchedMs, saved.writtenMs()) < dayMs) return false;
      fetchedMs = nowMs;
      try {
        const { origin, pathname, search } = new URL(prices.url ?? (await newestPricesUrl()));
        const address = { origin, route: undefined, path: pathname + search, headers: [] };
        const { status, body } = await getJson(transport, address, updateTimeoutMs);
        if (status !== 200) throw new Error(`it answered ${status}`);
        const text = JSON.stringify(body);
        const taken = await take(text);
        saved.write(text);
        return taken;
      } catch (error) {
        warn(
          `the price list could not be updated, and is as before: ${error instanceof Error ? error.message : error}`,
        );
        return false;
      }
    },
  };
}
