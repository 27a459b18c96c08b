import { statSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import type { ConfiguredProvider } from '../inference/models/connections.ts';
import { installedPrices, newestPricesUrl, type PriceList, takePrices } from '../inference/models/price-list.ts';
import { hasListPrices } from '../inference/models/target-of.ts';
import { getJson } from '../inference/transport/get-json.ts';
import type { Transport } from '../inference/transport/upstream-call.ts';
import type { Clock } from '../kernel/clock.ts';
import { readIfThere, replaceFile } from '../stores/sqlite/data-folder.ts';

export interface PricesParts {
  transport: Transport;
  clock: Clock;
  /** Where the newest list is kept that was taken over. */
  file: string;
  warn(message: string): void;
}

/** The price list in force. What cannot be loaded or updated is told, and leaves what was in force. */
export interface Prices {
  /** Null: no provider needed one so far. */
  readonly list: PriceList | null;
  /** Loads the list that the configuration wants, where a provider needs one. True: another one is in force now. */
  load(config: Config, providers: Iterable<ConfiguredProvider>): Promise<boolean>;
  /** Asks for the newest list where the configuration wants that and a day has passed. True: it is in force now. */
  update(config: Config): Promise<boolean>;
}

const dayMs = 86_400_000;
const updateTimeoutMs = 30_000;

export function createPrices({ transport, clock, file, warn }: PricesParts): Prices {
  let list: PriceList | null = null;
  let source: 'none' | 'installed' | 'kept' = 'none';
  let askedMs = Number.NEGATIVE_INFINITY;

  async function take(text: string): Promise<boolean> {
    list = await takePrices(JSON.parse(text));
    source = 'kept';
    return true;
  }

  async function takeKept(): Promise<boolean> {
    try {
      const text = readIfThere(file);
      return text !== undefined && (await take(text));
    } catch (error) {
      warn(`the price list in ${file} cannot be used: ${String(error)}`);
      return false;
    }
  }

  return {
    get list() {
      return list;
    },

    async load({ prices }, providers) {
      if (source === 'none' && ![...providers].some(hasListPrices)) return false;
      if (source === (prices.update ? 'kept' : 'installed')) return false;
      if (prices.update && (await takeKept())) return true;
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

    async update({ prices }) {
      const nowMs = clock.wallMs();
      if (!prices.update || source === 'none' || nowMs - Math.max(askedMs, keptMs(file)) < dayMs) return false;
      askedMs = nowMs;
      try {
        const { origin, pathname, search } = new URL(prices.url ?? (await newestPricesUrl()));
        const address = { origin, route: undefined, path: pathname + search, headers: [] };
        const { status, body } = await getJson(transport, address, updateTimeoutMs);
        if (status !== 200) throw new Error(`it answered ${status}`);
        const text = JSON.stringify(body);
        const taken = await take(text);
        replaceFile(file, text);
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

/** When the kept list was written, in ms of the wall clock. */
function keptMs(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;
}
