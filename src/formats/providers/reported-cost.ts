import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import type { UsageOf } from '../dialects/dialect.ts';
import { reportedUsd } from '../neutral/usage.ts';

/** Usage with the cost that the provider reports in it; `costOf` reads USD out of `usage`. */
export function withCost(costOf: (usage: JsonObject) => JsonValue | undefined): UsageOf {
  return ({ usage }) => (isObject(usage) ? { ...usage, [reportedUsd]: costOf(usage) } : usage);
}
