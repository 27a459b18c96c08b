import { z } from 'zod';
import { listOf, noQuery, pageFields } from '../fields.ts';
import type { Call, Operation } from '../operation.ts';
import { type PageQuery, pageByText } from '../page.ts';
import type { Area } from '../roles.ts';

/** Entries that have a list and an address each: keys, plans, providers… */
export interface EntryKind<Reply extends z.ZodType> {
  /** Path of the list. An entry is one level below it. */
  path: string;
  /** Name in paths for the name of an entry. */
  named: 'id' | 'name';
  area: Area;
  /** An entry as its list shows it. */
  reply: Reply;
}

/** Rows of a list, in the order of `textOf`, which is unique to each row. */
export interface EntryList<Row, Shown> {
  rows: readonly Row[];
  textOf(row: Row): string;
  /** Default: all rows. */
  matches?(row: Row): boolean;
  shown(row: Row): Shown;
}

type NoQuery = typeof noQuery;

/** One operation on one entry. */
interface OnEntry<Query extends z.ZodType, Body extends z.ZodType | null, Reply extends z.ZodType> {
  summary: string;
  /** Default: no parameters. */
  query?: Query;
  body?: Body;
  /** Default: an entry as its list shows it. */
  reply?: Reply;
  run(
    name: string,
    call: Pick<Call, 'operator' | 'written'> & { query: z.output<Query>; body: z.output<Body> },
  ): Promise<z.input<Reply>>;
}

type Added<Body extends z.ZodType, Reply extends z.ZodType> = Omit<OnEntry<z.ZodType, Body, Reply>, 'query' | 'run'> & {
  body: Body;
  run(call: Pick<Call, 'operator' | 'written'> & { body: z.output<Body> }): Promise<z.input<Reply>>;
};

/** Values of a query for the parameters of a list. */
export type FiltersOf<Filters extends z.ZodRawShape> = { [Name in keyof Filters]: z.output<Filters[Name]> };

interface Listed<Row, Filters extends z.ZodRawShape, Entry extends z.ZodType> {
  summary: string;
  filters?: Filters;
  rows(query: PageQuery & FiltersOf<Filters>, operator: Call['operator']): Promise<EntryList<Row, z.input<Entry>>>;
}

export type EntryOperations<Entry extends z.ZodType> = ReturnType<typeof entryOperations<Entry>>;

/** `list`, `show`, `add`, `change` and `remove` of one kind, and what else can be done with an entry. */
export function entryOperations<Entry extends z.ZodType>({ path, named, area, reply: entry }: EntryKind<Entry>) {
  function onEntry<
    Query extends z.ZodType = NoQuery,
    Body extends z.ZodType | null = null,
    Reply extends z.ZodType = Entry,
  >(method: Operation['method'], below: string, one: OnEntry<Query, Body, Reply>): Operation {
    const { summary, query = noQuery, body = null, reply = entry, run } = one;
    return {
      method,
      path: `${path}/{${named}}${below}`,
      area,
      summary,
      query,
      body,
      reply: { kind: 'json', status: 200, schema: reply },
      // The schemas above have checked what the call holds.
      run: ({ params, ...call }) => run(params[named] ?? '', call as Parameters<typeof run>[1]),
    };
  }

  return {
    named,
    /** GET of the list. `filters` are parameters of its query besides those of a page. */
    list<Row, Filters extends z.ZodRawShape = Record<never, never>>(list: Listed<Row, Filters, Entry>): Operation {
      return {
        method: 'GET',
        path,
        area,
        summary: list.summary,
        query: z.strictObject({ ...pageFields, ...list.filters }),
        body: null,
        reply: { kind: 'json', status: 200, schema: listOf(entry) },
        async run(call) {
          const query = call.query as Parameters<typeof list.rows>[0];
          const { rows, textOf, matches, shown } = await list.rows(query, call.operator);
          const page = pageByText(rows, textOf, query, matches);
          return { data: page.rows.map(shown), next_cursor: page.next };
        },
      };
    },
    show: <Reply extends z.ZodType = Entry>(one: OnEntry<NoQuery, null, Reply>) => onEntry('GET', '', one),
    /** POST to the list, which answers 201. */
    add<Body extends z.ZodType, Reply extends z.ZodType = Entry>(added: Added<Body, Reply>): Operation {
      const { summary, body, reply = entry, run } = added;
      return {
        method: 'POST',
        path,
        area,
        summary,
        query: noQuery,
        body,
        reply: { kind: 'json', status: 201, schema: reply },
        run: (call) => run(call as Parameters<typeof run>[0]),
      };
    },
    /** PATCH changes members; PUT writes the whole entry. */
    change: <Body extends z.ZodType, Query extends z.ZodType = NoQuery>(
      one: OnEntry<Query, Body, Entry> & { body: Body; method?: 'PATCH' | 'PUT' },
    ) => onEntry(one.method ?? 'PATCH', '', one),
    remove: <Query extends z.ZodType = NoQuery>(one: OnEntry<Query, null, Entry>) => onEntry('DELETE', '', one),
    /** POST to `verb` below an entry. */
    act: <Body extends z.ZodType | null = null, Reply extends z.ZodType = Entry, Query extends z.ZodType = NoQuery>(
      verb: string,
      one: OnEntry<Query, Body, Reply>,
    ) => onEntry('POST', `/${verb}`, one),
  };
}
