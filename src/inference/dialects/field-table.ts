import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import type { NeutralRequest } from '../neutral/request.ts';
import { type Check, type Complaint, within } from './complaint.ts';
import { anyJson } from './field-rules.ts';
import { gatewayOnlyFields } from './forward-body.ts';

/** Members of the neutral form that hold what the wire says as it is. */
type PlainName =
  | 'temperature'
  | 'topP'
  | 'frequencyPenalty'
  | 'presencePenalty'
  | 'n'
  | 'seed'
  | 'logprobs'
  | 'topLogprobs'
  | 'logitBias'
  | 'parallelToolCalls';

/**
 * Where a field stands in the neutral form: under a name of that, as it is; where a function puts it, which may find that
 * only this dialect knows such a value; `hint`: it changes cost, speed or bookkeeping, never what is answered; `vendor`:
 * only this dialect knows it; `read`: with the body as a whole, or it says nothing to others.
 */
export type Place<Body, Context> =
  | PlainName
  | 'hint'
  | 'vendor'
  | 'read'
  | ((request: NeutralRequest, body: Body, context: Context) => 'vendor' | undefined);

/** Every field of a dialect's request that is known, once: how it is checked, and where it goes. */
export type FieldTable<Body, Context = undefined> = ReadonlyMap<
  string,
  readonly [check: Check, place: Place<Body, Context>]
>;

/** For a table written as an object. */
export function fieldTable<Body, Context = undefined>(
  fields: Readonly<Record<string, readonly [Check, Place<Body, Context>]>>,
): FieldTable<Body, Context> {
  return new Map(Object.entries(fields));
}

/** The first complaint names its field. Null means absent, but for `neverNull`; unknown fields are kept as they came. */
export function checkFields(
  table: ReadonlyMap<string, readonly [check: Check, ...rest: unknown[]]>,
  body: JsonObject,
  neverNull: ReadonlySet<string>,
): Complaint | null {
  for (const name in body) {
    const value = body[name];
    if (value === undefined || (value === null && !neverNull.has(name))) continue;
    const complaint = (table.get(name)?.[0] ?? anyJson)(value);
    if (complaint !== null) return within(name, complaint);
  }
  return null;
}

/** What no neutral name holds; null when there is nothing. */
export interface LeftOver {
  hints: JsonObject | null;
  vendor: JsonObject | null;
}

/** Puts every field of a checked body where it goes. `says`: false for a value without a meaning. */
export function placeFields<Body extends JsonObject, Context>(
  table: FieldTable<Body, Context>,
  request: NeutralRequest,
  body: Body,
  context: Context,
  beyond: readonly [string, JsonValue][] = [],
  says: (value: JsonValue) => boolean = () => true,
): LeftOver {
  const hints: [string, JsonValue][] = [];
  const vendor: [string, JsonValue][] = [];
  for (const name of Object.keys(body)) {
    const value = body[name];
    if (value === undefined || value === null || gatewayOnlyFields.has(name)) continue;
    let place = table.get(name)?.[1] ?? 'vendor';
    if (typeof place === 'function') place = place(request, body, context) ?? 'read';
    if (place === 'read') continue;
    if (place !== 'hint' && place !== 'vendor') request[place] = value as never;
    else if (says(value)) (place === 'hint' ? hints : vendor).push([name, value]);
  }
  vendor.push(...beyond);
  // fromEntries defines members, so a `__proto__` from the wire stays a plain member (S21).
  return {
    hints: hints.length > 0 ? Object.fromEntries(hints) : null,
    vendor: vendor.length > 0 ? Object.fromEntries(vendor) : null,
  };
}

export function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

/** An end-user id as ledger and log may keep it, or null. */
export function cleanUser(user: string | null | undefined): string | null {
  if (!user) return null;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go (S23)
  const clean = user.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '');
  return clean === '' ? null : clean;
}
