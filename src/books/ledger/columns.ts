import type { Charge, SettledFacts, UsageAttempt, UsageRoute } from './settled-request.ts';

/** Type of a column. `whole` is an integer, `real` a fraction; with `?` it may be null. */
interface ColumnValues {
  text: string;
  'text?': string | null;
  whole: number;
  'whole?': number | null;
  'real?': number | null;
  flag: boolean;
  /** The routing decisions. Databases keep them as two columns of JSON, `route` and `attempts`. */
  route: UsageRoute;
}

type ColumnType = keyof ColumnValues;

/** A request at its settlement: everything that a column may be made of. */
export interface Settling {
  facts: SettledFacts;
  charge: Charge;
  /** USD of the tokens; null where the target has no price. */
  costUsd: number | null;
  /** The instant whose quota bucket holds the units. */
  quotaMs: number;
}

/** How people see a column in a request's record and in CSV. Default: under its own name, unchanged. */
export interface Shown<Value = unknown> {
  as?: string;
  by?: (value: Value) => string | number;
  /** `usage`: in that part of the record. A CSV has everything in one row, there under the column's own name. */
  in?: 'usage';
  /** `zero`: the record leaves it out then, since few requests have it. */
  unless?: 'zero';
  /** `operator`: only the admin API shows it. `nobody`: it is kept for Culvert itself. */
  to?: 'operator' | 'nobody';
  /** Description in the OpenAPI document. */
  about?: string;
}

/** `value` is what a settled request has there. Crashed and refused ones have nothing: '', 0, false or null. */
export type LedgerColumn = {
  [Type in ColumnType]: readonly [
    name: string,
    type: Type,
    value: (settling: Settling) => ColumnValues[Type],
    shown?: Shown<ColumnValues[Type]>,
  ];
}[ColumnType];

/**
 * The columns of `usage_event`, one row a request, in the order in which a CSV shows them. Both databases, the CSV,
 * the record that people see and its OpenAPI schema are made of this table: a further column is a line here and a migration for each database.
 * A line that was released is not changed. Names ending in `_ms` are durations or wall-clock instants in ms.
 */
export const eventColumns = [
  ['request_id', 'text', ({ facts }) => facts.claim.requestId, { as: 'id' }],
  ['client_request_id', 'text?', ({ facts }) => facts.clientRequestId],
  // The arrival.
  [
    'at_ms',
    'whole',
    ({ facts }) => facts.claim.atMs,
    { as: 'created_at', by: (atMs: number) => new Date(atMs).toISOString() },
  ],
  ['account', 'text', ({ facts }) => facts.claim.principal.account, { to: 'operator' }],
  [
    'key_id',
    'text',
    ({ facts: { claim } }) => claim.principal.run?.keyId ?? claim.principal.keyId,
    { as: 'key', to: 'operator', about: 'Id of the key.' },
  ],
  ['tenant', 'text', ({ facts }) => facts.claim.principal.tenant, { to: 'operator' }],
  ['endpoint', 'text', ({ facts }) => facts.claim.endpoint],
  ['alias', 'text', ({ facts }) => facts.claim.alias, { as: 'model' }],
  ['tier', 'text?', ({ facts }) => facts.claim.tier],
  ['target', 'text?', ({ facts }) => facts.target, { about: 'The target that answered; null: none did.' }],
  [
    'status',
    'whole',
    ({ facts }) => facts.status,
    { about: 'The status that the caller got; 499: the client disconnected before.' },
  ],
  ['class', 'text', ({ facts }) => facts.class, { about: 'ok, or the failure.' }],
  ['stream', 'flag', ({ facts }) => facts.stream],
  ['aborted', 'flag', ({ facts }) => facts.aborted, { about: 'The client disconnected before the end.' }],
  ['route', 'route', ({ facts }) => facts.route],
  ['ms', 'whole', ({ facts }) => Math.round(facts.ms)],
  ['first_token_ms', 'whole?', ({ facts }) => (facts.firstTokenMs === null ? null : Math.round(facts.firstTokenMs))],
  ['input_tokens', 'whole', ({ charge }) => charge.usage.inputTokens, { in: 'usage' }],
  ['output_tokens', 'whole', ({ charge }) => charge.usage.outputTokens, { in: 'usage' }],
  ['cached_input_tokens', 'whole', ({ charge }) => charge.usage.cachedInputTokens ?? 0, { in: 'usage' }],
  [
    'cache_write_tokens',
    'whole',
    ({ charge }) => charge.usage.cacheWriteTokens ?? 0,
    { in: 'usage', unless: 'zero', about: 'Input tokens that the provider wrote to its cache.' },
  ],
  ['reasoning_tokens', 'whole', ({ charge }) => charge.usage.reasoningTokens ?? 0, { in: 'usage' }],
  ['characters', 'whole', ({ charge }) => charge.usage.characters ?? 0, { in: 'usage', unless: 'zero' }],
  ['audio_ms', 'whole', ({ charge }) => charge.usage.audioMs ?? 0, { in: 'usage', unless: 'zero' }],
  ['images', 'whole', ({ charge }) => charge.usage.images ?? 0, { in: 'usage', unless: 'zero' }],
  ['video_seconds', 'whole', ({ charge }) => charge.usage.videoSeconds ?? 0, { in: 'usage', unless: 'zero' }],
  [
    'usage_source',
    'text',
    ({ charge }) => charge.usageSource,
    {
      in: 'usage',
      as: 'source',
      about: 'Who counted: upstream, counted, estimated, abandoned, none; refused: nothing was run.',
    },
  ],
  ['cost_milli', 'whole', ({ charge }) => charge.costMilli, { as: 'units', by: (milli: number) => milli / 1_000 }],
  ['cost_usd', 'real?', ({ costUsd }) => costUsd],
  [
    'saved_usd',
    'real?',
    ({ facts }) => facts.savedUsd ?? null,
    {
      about:
        "USD that a cache saved: the model's own, or the provider's. Below 0: what the provider wrote cost more. null: no cache had a part in it.",
    },
  ],
  [
    'cache',
    'text?',
    ({ facts }) => facts.cacheUse ?? null,
    { about: "What the model's cache did: hit, semantic (a hit by meaning) or miss; null: it had no part in it." },
  ],
  ['user', 'text?', ({ facts }) => facts.user],
  ['tag', 'text?', ({ facts }) => facts.tag],
  ['variant', 'text?', ({ facts }) => facts.variant ?? null, { about: 'The variant of its model.' }],
  [
    'session',
    'text?',
    ({ facts }) => facts.session ?? null,
    { about: 'The conversation or agent run that the request belongs to, as its caller names it in a header.' },
  ],
  ['quota_ms', 'whole', ({ quotaMs }) => quotaMs, { to: 'nobody' }],
  ['further_scopes', 'text?', ({ facts }) => facts.claim.furtherScopes ?? null, { to: 'nobody' }],
  ['settled_ms', 'whole', ({ facts }) => facts.claim.atMs + Math.round(facts.ms), { to: 'nobody' }],
] as const satisfies readonly LedgerColumn[];

/** Columns that a reservation has, too. Its `cost_milli` is the reserved amount. */
const bookedNames = [
  'request_id',
  'at_ms',
  'account',
  'key_id',
  'tenant',
  'endpoint',
  'alias',
  'tier',
  'quota_ms',
  'cost_milli',
  'further_scopes',
] as const;

/** `at_ms` → `atMs`: a column's field in a row. */
export type FieldOf<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<FieldOf<Tail>>}`
  : Name;

export function fieldOf<Name extends string>(column: Name): FieldOf<Name> {
  return column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as FieldOf<Name>;
}

/** One immutable row a request: a field for each line of the table. */
export type UsageEvent = {
  [Column in (typeof eventColumns)[number] as FieldOf<Column[0]>]: ColumnValues[Column[1]];
};

/** The ledger's facts of a request from its beginning to its end. */
export type BookedRequest = Pick<UsageEvent, FieldOf<(typeof bookedNames)[number]>>;

/** A running request in the ledger. */
export interface ReservationRow extends BookedRequest {
  /** The process that runs it. */
  bootId: string;
  inputTokensEstimate: number;
}

/**
 * Whether a target without a price answered: what the request cost is unknown, and not 0. A kept answer asked no target,
 * and what used nothing costs nothing.
 */
export function isUnpriced(event: Pick<UsageEvent, 'costUsd' | 'target' | 'usageSource' | 'cache'>): boolean {
  const { costUsd, target, usageSource, cache } = event;
  if (costUsd !== null || target === null) return false;
  return usageSource !== 'none' && usageSource !== 'refused' && (cache === null || cache === 'miss');
}

/** The same of a row of `usage_event`. */
export const unpricedSql = `cost_usd IS NULL AND target IS NOT NULL AND usage_source NOT IN ('none', 'refused')
  AND coalesce(cache, 'miss') = 'miss'`;

export const reservationColumns: readonly (readonly [name: string, type: ColumnType])[] = [
  ...bookedNames.map((name) => [name, eventColumns.find((column) => column[0] === name)![1]] as const),
  ['boot_id', 'text'],
  ['input_tokens_estimate', 'whole'],
];

/** An event of which nothing is known. */
export const blankEvent = Object.fromEntries(
  eventColumns.map(([name, type]) => [fieldOf(name), blankOf(type)]),
) as UsageEvent;

function blankOf(type: ColumnType): ColumnValues[ColumnType] {
  if (type.endsWith('?')) return null;
  if (type === 'route') return { attempts: [] };
  return type === 'text' ? '' : type === 'flag' ? false : 0;
}

/** The row of a settled request. */
export const settledEvent = compiled<(settling: Settling) => UsageEvent>(
  eventColumns.map(([, , value]) => value),
  (values) =>
    `(settling) => ({ ${eventColumns.map(([name], at) => `${fieldOf(name)}: ${values[at]}(settling)`).join(', ')} })`,
);

/**
 * A function of one expression a column, made from a table once: a loop over the columns would look each of them up in
 * each row by its name, for five times as much. `write` gets the names that `parts` have in it.
 */
function compiled<Compiled>(parts: readonly unknown[], write: (names: readonly string[]) => string): Compiled {
  const names = parts.map((_, at) => `part${at}`);
  return new Function(...names, `return ${write(names)}`)(...parts);
}

export type SqlCell = string | number | null;

/** A column as both databases have it: the field of a row that goes into it, and how that becomes a cell. */
export interface Column {
  name: string;
  type: 'text' | 'whole' | 'real';
  field: string;
  held: ColumnType | 'attempts';
}

/** The columns of a table; its route is two of them, of JSON. */
export function columnsOf(table: readonly (readonly [name: string, type: ColumnType, ...unknown[]])[]): Column[] {
  return table.flatMap(([name, held]): Column[] => {
    const field = fieldOf(name);
    if (held === 'route')
      return [
        { name, type: 'text', field, held },
        { name: 'attempts', type: 'text', field, held: 'attempts' },
      ];
    const type = held.startsWith('text') ? 'text' : held === 'real?' ? 'real' : 'whole';
    return [{ name, type, field, held }];
  });
}

export const eventTable: readonly Column[] = columnsOf(eventColumns);
export const reservationTable: readonly Column[] = columnsOf(reservationColumns);

/** Writes the values of a row over `cells`, which it returns. */
export type CellWriter = (row: object, cells: SqlCell[]) => SqlCell[];

/** The writer of a table's rows. */
export function cellWriter(columns: readonly Column[]): CellWriter {
  return compiled([routeJson, attemptsJson], ([route, attempts]) => {
    const cells = columns.map(({ field, held }) => {
      const value = `row.${field}`;
      if (held === 'route') return `${route}(${value})`;
      // The same field, in the next column.
      if (held === 'attempts') return `${attempts}(${value}.attempts)`;
      if (held === 'flag') return `${value} === true ? 1 : 0`;
      // Both databases refuse a fraction there.
      return held.startsWith('whole') ? `${value} === null ? null : Math.round(${value})` : value;
    });
    return `(row, cells) => { ${cells.map((cell, at) => `cells[${at}] = ${cell};`).join(' ')} return cells; }`;
  });
}

/** The values of a row for the columns of its table. */
export function cellsOf(columns: readonly Column[], row: object): SqlCell[] {
  let write = writers.get(columns);
  if (write === undefined) {
    write = cellWriter(columns);
    writers.set(columns, write);
  }
  return write(row, new Array(columns.length));
}

const writers = new WeakMap<readonly Column[], CellWriter>();

/** JSON leaves out members that are undefined; the attempts are in another column. */
function routeJson(route: UsageRoute): string {
  return JSON.stringify({ ...route, attempts: undefined });
}

/** A row of `usage_event`, as a database gives it. */
export function readEvent(cells: Record<string, unknown>): UsageEvent {
  return readRow(eventTable, cells) as UsageEvent;
}

export function readReservation(cells: Record<string, unknown>): ReservationRow {
  return readRow(reservationTable, cells) as ReservationRow;
}

function readRow(columns: readonly Column[], cells: Record<string, unknown>): unknown {
  const row: Record<string, unknown> = {};
  for (const { name, type, field, held } of columns) {
    const cell = cells[name];
    if (held === 'attempts') (row[field] as UsageRoute).attempts = attemptsOf(String(cell));
    else if (held === 'route') row[field] = JSON.parse(String(cell));
    else if (held === 'flag') row[field] = cell === 1;
    // PostgreSQL gives its whole numbers as text where they may be large.
    else row[field] = cell === null ? null : type === 'text' ? String(cell) : Number(cell);
  }
  return row;
}

/** An attempt in its column: an array, since the names of fourteen fields would be most of the text. */
type AttemptCells = [
  target: string,
  credential: string,
  class_: string,
  status: number | null,
  ms: number,
  firstTokenMs: number | null,
  bytes: number,
  usage: Charge['usage'] | null,
  usageSource: string,
  costUsd: number | null,
  message: string | null,
  /** Last: rows of earlier versions end before it. */
  startMs?: number | null,
];

/** Attempts as the column `attempts` keeps them. Times are rounded to whole ms. */
function attemptsJson(attempts: readonly UsageAttempt[]): string {
  const rows: AttemptCells[] = [];
  for (const one of attempts) {
    const { target, credential, status, firstTokenMs, bytes, usage, usageSource, costUsd, message, startMs } = one;
    const ms = Math.round(one.ms);
    const firstMs = firstTokenMs === null ? null : Math.round(firstTokenMs);
    const began = startMs === null ? null : Math.round(startMs);
    rows.push([target, credential, one.class, status, ms, firstMs, bytes, usage, usageSource, costUsd, message, began]);
  }
  return JSON.stringify(rows);
}

/** Reads what `attemptsJson` wrote, in this version or an earlier one. */
function attemptsOf(text: string): UsageAttempt[] {
  return (JSON.parse(text) as AttemptCells[]).map(attemptOfCells);
}

function attemptOfCells(cells: AttemptCells): UsageAttempt {
  const [target, credential, class_, status, ms, firstTokenMs, bytes, usage, usageSource, costUsd, message] = cells;
  // Provider and model are in the target.
  const slash = target.indexOf('/');
  const [provider, model] = [target.slice(0, slash), target.slice(slash + 1)];
  const times = { startMs: cells[11] ?? null, ms, firstTokenMs };
  const used = { bytes, usage, usageSource, costUsd };
  return { target, provider, model, credential, class: class_, status, ...times, ...used, message };
}
