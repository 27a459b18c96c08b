import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { eventColumns, fieldOf, type Shown } from '../ledger/columns.ts';
import type { Feedback } from './experiments/experiment-book.ts';
import type { UsageEvent } from './ledger.ts';

/** The reader: an operator sees whose request it was. */
export type Reader = 'caller' | 'operator';

/** A settled request as people read it, over HTTP and in exports: with the explanation of its route. */
export function requestRecord(event: UsageEvent, reader: Reader): JsonObject {
  const record: Record<string, JsonValue> = { object: 'request' };
  const usage: Record<string, JsonValue> = {};
  for (const { name, field, shown } of shownColumns) {
    if (shown.to === 'operator' && reader !== 'operator') continue;
    const value = shownOf(event, field, shown);
    if (shown.unless === 'zero' && value === 0) continue;
    if (shown.in === 'usage') record.usage = usage;
    (shown.in === 'usage' ? usage : record)[shown.as ?? name] = value;
  }
  // Last, since it is long.
  const { route, ...rest } = record;
  return { ...rest, route: (reader === 'caller' ? withoutConditions(route) : route) ?? null };
}

/** Conditions of rules may name other accounts: a caller reads the names of those that applied alone. */
function withoutConditions(route: JsonValue | undefined): JsonValue | undefined {
  if (!isObject(route) || !isObject(route.rules)) return route;
  return { ...route, rules: { applied: route.rules.applied ?? [] } };
}

/** The record for operators as a JSON line. `bodies`: JSON of the request and its answer; null: without. */
export function recordLine(event: UsageEvent, bodies: string | null): string {
  const record = JSON.stringify(requestRecord(event, 'operator'));
  return bodies === null ? `${record}\n` : `${record.slice(0, -1)},"bodies":${bodies}}\n`;
}

/** Feedback as people read it. */
export function feedbackRecord({ metric, value, comment, atMs }: Feedback) {
  return { metric, value, comment, created_at: new Date(atMs).toISOString() };
}

/** Names of the cells of a CSV, for its first line. */
export function csvNames(): string[] {
  return shownColumns.map(({ name, type, shown }) => {
    if (type === 'route') return 'attempts';
    return shown.in === 'usage' ? name : (shown.as ?? name);
  });
}

/** The same request as a line of it, for operators: of its route, how many attempts there were. */
export function csvCells(event: UsageEvent): (string | number | boolean | null)[] {
  return shownColumns.map(({ type, field, shown }) =>
    type === 'route' ? event.route.attempts.length : (shownOf(event, field, shown) as string | number | boolean | null),
  );
}

const shownColumns: readonly { name: string; type: string; field: keyof UsageEvent; shown: Shown }[] = eventColumns
  .map(([name, type, , shown = {}]) => ({
    name,
    type,
    field: fieldOf(name) as keyof UsageEvent,
    shown: shown as Shown,
  }))
  .filter(({ shown }) => shown.to !== 'nobody');

function shownOf(event: UsageEvent, field: keyof UsageEvent, { by }: Shown): JsonValue {
  const value = event[field];
  return by === undefined ? (value as JsonValue) : by(value);
}
