import type { Failure } from '../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { Check, Complaint } from '../neutral/described-check.ts';
import type { NeutralRequest } from '../neutral/request.ts';
import { anyJson, asFailure, complain, within } from '../neutral/value-checks.ts';
import type { EncodeTarget } from './dialect.ts';
import { gatewayOnlyFields } from './forward-body.ts';
import { asIs, type Field, type NeutralMember, type Write, wordOf } from './taken-fields.ts';

/** Members of the neutral form that hold the wire's value unchanged. */
type PlainName =
  | Exclude<
      {
        [Name in NeutralMember]-?: NonNullable<NeutralRequest[Name]> extends number | boolean | string ? Name : never;
      }[NeutralMember],
      'model' | 'stream' | 'includeUsage'
    >
  | 'logitBias';

/**
 * Place of a field in the neutral form: a name of that, unchanged; a function that puts it there, and may find that
 * only this dialect knows such a value; `hint`: it changes cost, speed or bookkeeping, never the answer; `vendor`: only
 * this dialect knows it; `read`: the reader of the whole body takes it, or it says nothing to others.
 */
export type Place<Body, Context> =
  | PlainName
  | 'hint'
  | 'vendor'
  | 'read'
  | ((request: NeutralRequest, body: Body, context: Context) => 'vendor' | undefined);

/**
 * Known fields of a dialect's request, once and both ways: how each is checked if it must be converted, where it goes,
 * and how it is written for a target of this dialect. A field of a plain name is written as it is read if its row says
 * nothing else; null: it is not written here. `ours`: check of a field that Culvert reads, for any target. A provider
 * of the caller's format judges the rest.
 */
export type FieldTable<Body, Context = undefined, To = EncodeTarget> = ReadonlyMap<
  string,
  readonly [check: Check, place: Place<Body, Context>, write?: Write<To> | null, ours?: Check]
>;

/** For a table written as an object. */
export function fieldTable<Body, Context = undefined, To = EncodeTarget>(
  fields: Readonly<Record<string, readonly [Check, Place<Body, Context>, (Write<To> | null)?, Check?]>>,
): FieldTable<Body, Context, To> {
  return new Map(Object.entries(fields));
}

/** For a table of checks alone: its rows say nothing of where a field goes. */
export function plainTable(checks: Readonly<Record<string, Check>>): ReadonlyMap<string, readonly [Check]> {
  return new Map(Object.entries(checks).map(([name, check]) => [name, [check]]));
}

/**
 * The first complaint names its field. `required`: what is to be sent for fields that must be there. Null means absent,
 * but for those; unknown fields are kept as they came. `ours`: only what Culvert reads itself.
 */
export function checkFields(
  table: ReadonlyMap<string, readonly [check: Check, place?: unknown, write?: unknown, ours?: Check]>,
  body: JsonObject,
  required: ReadonlyMap<string, string>,
  scope: 'all' | 'ours' = 'all',
): Complaint | null {
  for (const [name, send] of required) if (body[name] === undefined) return complain(name, undefined, send);
  for (const name in body) {
    const value = body[name];
    if (value === undefined || (value === null && !required.has(name))) continue;
    const complaint = (table.get(name)?.[scope === 'all' ? 0 : 3] ?? anyJson)(value);
    if (complaint !== null) return within(name, complaint);
  }
  return null;
}

/** The first fault of a body, as `checkFields`; null when there is none. */
export function invalidField(
  table: Parameters<typeof checkFields>[0],
  body: JsonObject,
  required: ReadonlyMap<string, string>,
): Failure | null {
  const complaint = checkFields(table, body, required);
  return complaint === null ? null : asFailure(complaint);
}

/** Names of fields that say something and have no row: the dialect's alone, or nobody's. */
export function unknownFields(table: ReadonlyMap<string, unknown>, body: JsonObject): string[] {
  return Object.keys(body).filter(
    (name) => !table.has(name) && !gatewayOnlyFields.has(name) && (body[name] ?? null) !== null,
  );
}

/** Questions about a body of a format with `fields`: its first fault, and its fields that no other provider has a form of. */
export function questionsOf(fields: Parameters<typeof checkFields>[0], required: ReadonlyMap<string, string>) {
  return {
    invalidFieldIn: (body: JsonObject) => invalidField(fields, body, required),
    unknownFieldsIn: (body: JsonObject) => unknownFields(fields, body),
  };
}

/** Result of a check of a whole body. */
export interface Checked<Body> {
  /** If `vendors` is null all types and bounds hold, else only those of fields that Culvert reads. */
  body: Body;
  /** A fault for a conversion only; providers of the caller's format may accept it. */
  vendors: Failure | null;
}

/** `complaint` is the first of all checks. Refused when the body is not what Culvert must read itself. */
export function judged<Body extends JsonObject>(
  table: FieldTable<Body, never, never>,
  body: JsonObject,
  required: ReadonlyMap<string, string>,
  complaint: Complaint | null,
): Checked<Body> | Failure {
  if (complaint === null) return { body: body as Body, vendors: null };
  const failure = asFailure(complaint);
  const ours = checkFields(table, body, required, 'ours');
  return ours === null ? { body: body as Body, vendors: failure } : failure;
}

/** Fields without a neutral name; null when there are none. */
export interface LeftOver {
  hints: JsonObject | null;
  vendor: JsonObject | null;
}

/** Puts every field of a checked body where it goes. `isMeaningful`: false for a value without a meaning. */
export function placeFields<Body extends JsonObject, Context>(
  table: FieldTable<Body, Context, never>,
  request: NeutralRequest,
  body: Body,
  context: Context,
  beyond: readonly [string, JsonValue][] = noFields,
  isMeaningful: ((value: JsonValue) => boolean) | null = null,
): LeftOver {
  const hints: [string, JsonValue][] = [];
  const vendor: [string, JsonValue][] = [];
  for (const name in body) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    const known = table.get(name);
    if (known === undefined && gatewayOnlyFields.has(name)) continue;
    let place = known?.[1] ?? 'vendor';
    if (typeof place === 'function') place = place(request, body, context) ?? 'read';
    if (place === 'read') continue;
    if (place !== 'hint' && place !== 'vendor') request[place] = value as never;
    else if (isMeaningful === null || isMeaningful(value)) (place === 'hint' ? hints : vendor).push([name, value]);
  }
  vendor.push(...beyond);
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return {
    hints: hints.length > 0 ? Object.fromEntries(hints) : null,
    vendor: vendor.length > 0 ? Object.fromEntries(vendor) : null,
  };
}

const noFields: readonly [string, JsonValue][] = [];

/** The fields of a table that its dialect writes, in its order. */
export function writtenFields<To>(table: FieldTable<never, never, To>): readonly Field<To>[] {
  return [...table].flatMap(([name, [, place, write = asIs]]): Field<To>[] => {
    const member = write?.member ?? memberOf(place);
    return write === null || member === null ? [] : [{ name, member, write }];
  });
}

/** The caller's field for each word that encoders have for a member, where the two differ. `holder`: what the fields are in. */
export function fieldNames(table: FieldTable<never, never, never>, holder = ''): [word: string, field: string][] {
  return [...table].flatMap(([name, [, place, write]]): [string, string][] => {
    const member = write?.member ?? memberOf(place);
    return member === null || wordOf(member) === `${holder}${name}` ? [] : [[wordOf(member), `${holder}${name}`]];
  });
}

function memberOf(place: Place<never, never>): NeutralMember | null {
  return typeof place === 'function' || place === 'hint' || place === 'vendor' || place === 'read' ? null : place;
}
