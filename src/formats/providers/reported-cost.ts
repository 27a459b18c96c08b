import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { UsageOf } from '../dialects/dialect.ts';
import { reportedCost } from '../neutral/usage.ts';

/** No request costs more. */
const usdMax = 100_000;

/** Usage with the cost that the provider reports in it; `costOf` reads USD out of `usage`. */
export function withCost(costOf: (usage: JsonObject) => JsonValue | undefined): UsageOf {
  return ({ usage }) => {
    const usd = isObject(usage) ? costOf(usage) : null;
    const isCost = typeof usd === 'number' && usd >= 0 && usd <= usdMax;
    return isCost ? { ...(usage as JsonObject), [reportedCost]: { reportedUsdNano: Math.round(usd * 1e9) } } : usage;
  };
}
