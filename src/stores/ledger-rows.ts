import { eventColumns, fieldOf, reservationColumns } from '../ledger/columns.ts';
import type { ReservationRow, UsageEvent, UsageRoute } from '../metering/ledger.ts';
import { attemptsJson, attemptsOf } from './attempt-json.ts';

/** A column as both databases have it, and what of a row goes into it. */
export type Column<Row> = readonly [name: string, type: 'text' | 'whole' | 'real', of: (row: Row) => SqlCell];

export type SqlCell = string | number | null;

/** The table's columns, with JSON for what is neither text nor a number. */
export const eventCells: readonly Column<UsageEvent>[] = eventColumns.flatMap(([name, type]) =>
  type === 'route'
    ? [
        ['route', 'text', ({ route: { attempts: _, ...rest } }) => JSON.stringify(rest)] as const,
        ['attempts', 'text', ({ route }) => attemptsJson(route.attempts)] as const,
      ]
    : [cellOf<UsageEvent>(name, type)],
);

export const reservationCells: readonly Column<ReservationRow>[] = reservationColumns.map(([name, type]) =>
  cellOf<ReservationRow>(name, type),
);

/** A row of `usage_event`. */
export function eventOf(row: Record<string, unknown>): UsageEvent {
  return read(eventReaders, row) as UsageEvent;
}

/** A row of `reservation`. */
export function reservationOf(row: Record<string, unknown>): ReservationRow {
  return read(reservationReaders, row) as ReservationRow;
}

function cellOf<Row>(name: string, type: string): Column<Row> {
  const own = fieldOf(name) as keyof Row;
  const field = (row: Row) => row[own] as never;
  switch (type) {
    case 'text':
    case 'text?':
      return [name, 'text', field];
    case 'real?':
      return [name, 'real', field];
    case 'flag':
      return [name, 'whole', (row) => (field(row) ? 1 : 0)];
    default:
      // Both databases refuse a fraction there.
      return [name, 'whole', (row) => rounded(field(row))];
  }
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}

type Reader = readonly [name: string, field: string, of: (value: unknown, row: Record<string, unknown>) => unknown];

function readerOf([name, type]: readonly [string, string, ...unknown[]]): Reader {
  const plain = type.startsWith('text') ? String : Number;
  if (type === 'route') return [name, 'route', routeOf];
  if (type === 'flag') return [name, fieldOf(name), (value) => value === 1];
  return [name, fieldOf(name), type.endsWith('?') ? (value) => (value === null ? null : plain(value)) : plain];
}

function routeOf(route: unknown, { attempts }: Record<string, unknown>): UsageRoute {
  return {
    ...(JSON.parse(String(route)) as Omit<UsageRoute, 'attempts'>),
    attempts: attemptsOf(String(attempts)),
  };
}

const eventReaders = eventColumns.map(readerOf);
const reservationReaders = reservationColumns.map(readerOf);

function read(readers: readonly Reader[], row: Record<string, unknown>): unknown {
  const fields: Record<string, unknown> = {};
  for (const [name, field, of] of readers) fields[field] = of(row[name], row);
  return fields;
}
