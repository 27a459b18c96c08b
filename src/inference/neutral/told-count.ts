import type { JsonObject, JsonValue } from '../../kernel/json.ts';

/** No request uses so much of anything: who tells more has counted wrong, and the books could not hold all of it. */
const toldCountMax = 1_000_000_000;

/** Tokens or searches as an upstream tells them; null for what is no count, so that others may count. */
export function toldCount(value: JsonValue | undefined): number | null {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= toldCountMax
    ? (value as number)
    : null;
}

/** Whether one of these members is told and is no count: who counts so wrong is not believed in the others either. */
export function tellsNoCount(usage: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => usage[name] != null && toldCount(usage[name]) === null);
}
