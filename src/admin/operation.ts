import type { z } from 'zod';
import type { Operator } from '../books/auth/operator.ts';
import { type Failure, FailureError } from '../kernel/failure.ts';

import type { AdminMethod } from './admin-api.ts';
import { noQuery } from './fields.ts';
import type { Area } from './roles.ts';

export { refuse } from '../kernel/failure.ts';

/** One operation of the admin API: its schemas, which validate and make the OpenAPI document, and its work. */
export interface Operation {
  method: AdminMethod;
  /** Below `/admin/v1`, with `{names}`. */
  path: string;
  /** Decides which roles may. */
  area: Area;
  /** Default: GET reads, all else writes. */
  access?: 'read' | 'write';
  /** One sentence for the documentation. */
  summary: string;
  query: z.ZodType;
  /** `yaml`: a text that is taken as it is. Null: the operation has no body, and ignores one that comes. */
  body: z.ZodType | 'yaml' | null;
  reply: { kind: 'json'; status: 200 | 201; schema: z.ZodType } | TextReply;
  /** Throws FailureError for what the caller can correct. */
  run(call: Call): Promise<unknown>;
}

/** The right that an operator needs in the operation's area. */
export function accessOf({ method, access }: Pick<Operation, 'method' | 'access'>): 'read' | 'write' {
  return access ?? (method === 'GET' ? 'read' : 'write');
}

/** `run` gives the text, or its pieces where it may be long. */
export interface TextReply {
  kind: 'text';
  contentType: string;
}

export interface Call {
  /** Decoded, by name. */
  params: Readonly<Record<string, string>>;
  query: unknown;
  body: unknown;
  /** The body as it was written, before defaults and conversions. */
  written: unknown;
  /** Its text, whose numbers have all their digits; '' for none. */
  text: string;
  /** The caller, who has the right. Accounts outside `operator.accounts` do not exist for this caller. */
  operator: Operator;
}

type ParamOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamOf<Rest> : never;
type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : Schema extends 'yaml' ? string : undefined;

interface TypedCall<Path extends string, Query extends z.ZodType, Body>
  extends Pick<Call, 'written' | 'text' | 'operator'> {
  params: Readonly<Record<ParamOf<Path>, string>>;
  query: z.output<Query>;
  body: OutputOf<Body>;
}

interface Taking<Path extends string, Query extends z.ZodType, Body>
  extends Pick<Operation, 'area' | 'access' | 'summary'> {
  /** Its method and its path: `GET /accounts/{id}`. */
  route: `${AdminMethod} ${Path}`;
  /** Default: no parameters. */
  query?: Query;
  /** Default: none. */
  body?: Body;
}

/** An operation that answers with JSON; `run` is typed by its path and schemas. */
export function jsonOperation<
  const Path extends string,
  Reply extends z.ZodType,
  Query extends z.ZodType = typeof noQuery,
  Body extends z.ZodType | 'yaml' | null = null,
>(
  operation: Taking<Path, Query, Body> & {
    status?: 200 | 201;
    reply: Reply;
    run(call: TypedCall<Path, Query, Body>): Promise<z.input<Reply>> | z.input<Reply>;
  },
): Operation {
  const { route, status = 200, query = noQuery, body = null, reply, run, ...taking } = operation;
  return {
    ...splitRoute(route),
    ...taking,
    query,
    body,
    reply: { kind: 'json', status, schema: reply },
    // The caller of `run` has checked its arguments by these very schemas.
    run: async (call) => run(call as TypedCall<Path, Query, Body>),
  };
}

/** An operation that answers with a text of any length, such as an export. */
export function textOperation<const Path extends string, Query extends z.ZodType = typeof noQuery>(
  operation: Omit<Taking<Path, Query, null>, 'body'> & {
    contentType: string;
    run(call: TypedCall<Path, Query, null>): Promise<string | AsyncIterable<string | Uint8Array>>;
  },
): Operation {
  const { route, contentType, query = noQuery, run, ...taking } = operation;
  return {
    ...splitRoute(route),
    ...taking,
    query,
    body: null,
    reply: { kind: 'text', contentType },
    run: (call) => run(call as TypedCall<Path, Query, null>),
  };
}

function splitRoute(route: `${AdminMethod} ${string}`): Pick<Operation, 'method' | 'path'> {
  const [method, path] = route.split(' ') as [AdminMethod, string];
  return { method, path };
}

/** The same with further members in addition to `error` in the body. */
export function refuseWith(failure: Failure, members: Readonly<Record<string, unknown>>): never {
  throw new DetailedFailure(failure, members);
}

export class DetailedFailure extends FailureError {
  readonly members: Readonly<Record<string, unknown>>;

  constructor(failure: Failure, members: Readonly<Record<string, unknown>>) {
    super(failure);
    this.members = members;
  }
}
