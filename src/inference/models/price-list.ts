import type { ConditionalPrice, ModelInfo, ModelPrice } from '@pydantic/genai-prices';
import {
  createPrice,
  type Price,
  type Rates,
  type RatesHold,
  type RatesInForce,
  type RateTier,
} from '../../formats/neutral/price.ts';
import { putNewest } from '../../kernel/put-newest.ts';
import { rateNames } from './rate-names.ts';

/** A published list's facts of models; the same of one model until another list is loaded. */
export interface PriceList {
  /** By the list's own id of a provider, and the model's id there; null where the list does not have it. */
  find(provider: string, model: string): ListedModel | null;
  /** The list's id of the service at a base URL; null for one that it does not know. */
  providerAt(baseUrl: string): string | null;
}

export interface ListedModel {
  /** Null: the list has the model, and no price of it. */
  price: Price | null;
  /** Tokens. */
  contextWindow: number | null;
}

type Library = Pick<typeof import('@pydantic/genai-prices'), 'calcPrice' | 'findProvider'>;

const library = () => import('@pydantic/genai-prices');
/** Content of the installed version, which the library forgets once it is given another list. */
let installed: unknown = null;

export async function installedPrices(): Promise<PriceList> {
  installed ??= await (await library()).waitForUpdate();
  return takePrices(installed);
}

/** Takes over another list, in the library's own format; rejects, and keeps the one before, if it is not in that. */
export async function takePrices(json: unknown): Promise<PriceList> {
  const { updatePrices, waitForUpdate, ...lookUp } = await library();
  installed ??= await waitForUpdate();
  if (!Array.isArray(json) || json.length === 0) throw new Error('it is no list of providers');
  updatePrices(({ setProviderData }) => setProviderData(json));
  return priceListOf(lookUp);
}

/** Where the library's publisher keeps the newest list. */
export async function newestPricesUrl(): Promise<string> {
  return (await library()).REMOTE_DATA_JSON_URL;
}

function priceListOf({ calcPrice, findProvider }: Library): PriceList {
  const models = new Map<string, ListedModel | null>();
  const providers = new Map<string, string | null>();
  function find(provider: string, model: string): ListedModel | null {
    try {
      const found = calcPrice({}, model, { providerId: provider });
      return found === null ? null : listedModel(found.provider.id, found.model);
    } catch {
      // An entry that the library itself refuses.
      return null;
    }
  }
  return {
    find: (provider, model) => remembered(models, `${provider} ${model}`, () => find(provider, model)),
    providerAt: (url) => remembered(providers, url, () => findProvider({ providerApiUrl: url })?.id ?? null),
  };
}

function remembered<T>(known: Map<string, T>, key: string, find: () => T): T {
  const before = known.get(key);
  if (before !== undefined) return before;
  const found = find();
  putNewest(known, key, found, rememberedMax);
  return found;
}

/** Names below a pattern are made up by callers, so they are bounded: as many as there can be aliases. */
const rememberedMax = 20_000;

/** https://console.groq.com/docs/speech-to-text: ten seconds at least. */
const audioMsMin: Readonly<Record<string, number>> = { groq: 10_000 };

/**
 * Factors of prices by how tokens were served, which the list does not have. Each is that of most models of the provider:
 * https://openai.com/api/pricing, https://docs.claude.com/en/docs/about-claude/pricing,
 * https://ai.google.dev/gemini-api/docs/optimization.
 */
const servedAs: Readonly<Record<string, Record<string, number>>> = {
  openai: { flex: 0.5, priority: 2 },
  anthropic: { fast: 6, us: 1.1 },
  google: { flex: 0.5, priority: 1.8 },
};

function listedModel(provider: string, { id, prices, context_window: contextWindow }: ModelInfo): ListedModel {
  const written: ConditionalPrice[] = Array.isArray(prices) ? prices : [{ prices }];
  // The library lets the last that applies decide, and the first where none does.
  const inForce = written.map(inForceOf).reverse();
  const isKnown = id.endsWith(':free') || written.some((one) => Object.keys(one.prices).length > 0);
  return {
    price: isKnown
      ? createPrice(inForce, {
          reported: 'counts',
          audioMsMin: audioMsMin[provider] ?? 0,
          servedAs: servedAs[provider] ?? {},
        })
      : null,
    contextWindow: contextWindow ?? null,
  };
}

function inForceOf({ constraint, prices }: ConditionalPrice): RatesInForce {
  const rates: Record<string, number> = {};
  const tiers = new Map<number, Record<string, number>>();
  for (const [unit, , listed, perListed] of rateNames) {
    const price = listed.map((name) => (prices as ModelPrice)[name]).find((one) => one !== undefined);
    if (price === undefined) continue;
    if (typeof price === 'number') {
      rates[unit] = price / perListed;
      continue;
    }
    rates[unit] = price.base / perListed;
    for (const tier of price.tiers) {
      const tierRates = tiers.get(tier.start) ?? {};
      tierRates[unit] = tier.price / perListed;
      tiers.set(tier.start, tierRates);
    }
  }
  return {
    rates: rates as Rates,
    ...(tiers.size > 0 && {
      tiers: [...tiers].map(([above, tierRates]): RateTier => ({ aboveInputTokens: above, rates: tierRates })),
    }),
    ...(constraint !== undefined && { hold: holdOf(constraint) }),
  };
}

function holdOf(constraint: NonNullable<ConditionalPrice['constraint']>): RatesHold {
  if (constraint.type === 'start_date') return { fromMs: Date.parse(constraint.start_date) };
  return { fromSecond: secondOfDay(constraint.start_time), untilSecond: secondOfDay(constraint.end_time) };
}

/** `HH:MM:SS` with `Z` or an offset, as a second of the UTC day. */
function secondOfDay(time: string): number {
  return (Date.parse(`1970-01-02T${time}`) % 86_400_000) / 1_000;
}
