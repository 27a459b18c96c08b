import { z } from 'zod';
import { parseNetwork, parsePlace } from '../kernel/network.ts';
import { webhookKey } from '../kernel/web/webhook-key.ts';
import { referenceRefusal } from './reference-forms.ts';

/** The small values of culvert.yaml: written for people (`30s`, `32mb`), read as numbers of one unit. */

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unitBytes: Readonly<Record<string, number>> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 };
const tenYearsMs = 3_650 * 86_400_000;
const hundredYearsMs = 36_500 * 86_400_000;

/** `500ms`, `1.5s`, `10m`, `2h`, `90d` → ms. Undefined when it is none of these. */
export function parseDurationMs(text: string): number | undefined {
  return parseAmount(text, /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/, unitMs);
}

/**
 * How far from now an instant is, written as a duration → ms. Undefined beyond a hundred years, too: that is a typing
 * error, and soon not even a valid date.
 */
export function parseDistanceMs(text: string): number | undefined {
  const ms = parseDurationMs(text);
  return ms === undefined || ms > hundredYearsMs ? undefined : ms;
}

/** `512kb`, `32mb`, `1gb` (powers of 1024, any case) → bytes. Undefined when it is none of these. */
export function parseSizeBytes(text: string): number | undefined {
  return parseAmount(text.toLowerCase(), /^(\d{1,9}(?:\.\d{1,3})?)(b|kb|mb|gb)$/, unitBytes);
}

function parseAmount(text: string, form: RegExp, units: Readonly<Record<string, number>>): number | undefined {
  const [, count, unit = ''] = form.exec(text) ?? [];
  return count === undefined ? undefined : Math.round(Number(count) * (units[unit] ?? Number.NaN));
}

/** A duration within [min, max]; the output is ms. */
export function duration(bounds: { min?: string; max?: string } = {}) {
  const example = 'expected a duration such as 30s';
  const minMs = bounds.min === undefined ? 0 : (parseDurationMs(bounds.min) ?? 0);
  const maxMs = bounds.max === undefined ? tenYearsMs : (parseDurationMs(bounds.max) ?? tenYearsMs);
  return z
    .string({ error: example })
    .meta({ pattern: '^\\d{1,9}(\\.\\d{1,3})?(ms|s|m|h|d)$', kind: 'duration' })
    .transform((text, context) => {
      const ms = parseDurationMs(text);
      if (ms === undefined) context.addIssue({ code: 'custom', message: example });
      else if (ms < minMs)
        context.addIssue({ code: 'custom', message: `expected a duration of at least ${bounds.min}` });
      else if (ms > maxMs) {
        context.addIssue({ code: 'custom', message: `expected a duration of at most ${bounds.max ?? '3650d'}` });
      }
      return ms ?? z.NEVER;
    });
}

/** A size within [1, max]; the output is bytes. */
export function size({ max = '8000000gb' } = {}) {
  const example = 'expected a size such as 32mb';
  const maxBytes = parseSizeBytes(max) ?? 0;
  return z
    .string({ error: example })
    .meta({ pattern: '^\\d{1,9}(\\.\\d{1,3})?([bB]|[kKmMgG][bB])$', kind: 'size' })
    .transform((text, context) => {
      const bytes = parseSizeBytes(text);
      if (bytes === undefined) context.addIssue({ code: 'custom', message: example });
      else if (bytes < 1) context.addIssue({ code: 'custom', message: 'expected a size above 0' });
      else if (bytes > maxBytes) context.addIssue({ code: 'custom', message: `expected a size of at most ${max}` });
      return bytes ?? z.NEVER;
    });
}

/** `5%` → 0.05. */
export function percentage() {
  const example = 'expected a percentage such as 5%';
  return z
    .string({ error: example })
    .meta({ pattern: '^\\d{1,3}(\\.\\d{1,3})?%$', kind: 'percentage' })
    .transform((text, context) => {
      const share = /^\d{1,3}(?:\.\d{1,3})?%$/.test(text) ? Number(text.slice(0, -1)) / 100 : undefined;
      if (share === undefined || share > 1) context.addIssue({ code: 'custom', message: example });
      return share ?? z.NEVER;
    });
}

/** `2027-01-01` (its first instant, UTC) or an RFC 3339 time; the output is wall-clock ms since the epoch. */
export function instant() {
  const example = 'expected a date such as 2027-01-01 or a time such as 2027-01-01T12:00:00Z';
  return z
    .string({ error: example })
    .meta({ pattern: '^\\d{4}-\\d{2}-\\d{2}([Tt ].+)?$', kind: 'date' })
    .transform((text, context) => {
      const ms = parseInstantMs(text);
      if (ms === undefined) context.addIssue({ code: 'custom', message: example });
      return ms ?? z.NEVER;
    });
}

const instantForm = /^(\d{4}-\d{2}-(\d{2}))(?:[Tt ](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+-]\d{2}:\d{2}))?$/;

/** Undefined when it is neither a date nor an RFC 3339 time. */
export function parseInstantMs(text: string): number | undefined {
  const [, date, day, time, zone = ''] = instantForm.exec(text) ?? [];
  if (date === undefined) return undefined;
  const ms = Date.parse(time === undefined ? date : `${date}T${time}${zone.toUpperCase()}`);
  // Date.parse rolls 2027-02-30 over into March; a day that does not exist is a typing error.
  const dayExists = new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
  return Number.isNaN(ms) || !dayExists ? undefined : ms;
}

/** A time zone's IANA name. */
export function timeZone() {
  return z
    .string()
    .max(64)
    .refine(isTimeZone, 'expected a time zone of the IANA list, such as Europe/Berlin or UTC')
    .overwrite(inItsCase);
}

/** `europe/berlin` is the same zone as `Europe/Berlin`, whose month may be closed. */
function inItsCase(name: string): string {
  if (!isTimeZone(name)) return name;
  const { timeZone: known } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
  // For an older name of a zone it is another one.
  return known.toLowerCase() === name.toLowerCase() ? known : name;
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** An http(s) URL without credentials; the output has no trailing slash, so that paths can be appended. */
export function httpUrl() {
  const example = 'expected an http:// or https:// URL';
  return z
    .string({ error: example })
    .meta({ pattern: '^[hH][tT][tT][pP][sS]?://', kind: 'url' })
    .transform((text, context) => {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
        context.addIssue({ code: 'custom', message: example });
      } else if (url.username !== '' || url.password !== '') {
        context.addIssue({ code: 'custom', message: 'a URL must not hold a user name or password' });
      } else if (url.hash !== '') {
        context.addIssue({ code: 'custom', message: 'a URL must not hold a #fragment' });
      }
      return text.replace(/(?<!\/)\/+$/, '');
    });
}

/** An incoming webhook: chat services put its secret into the path. */
export function webhookUrl() {
  return httpUrl().meta({ secret_path: true });
}

/** A forward proxy; it may have a user and password. */
export function proxyUrl() {
  const example = 'expected a proxy such as http://proxy.internal:3128';
  return z
    .string({ error: example })
    .meta({ pattern: '^[hH][tT][tT][pP][sS]?://', kind: 'url', has_user: true })
    .refine((text) => {
      const url = URL.parse(text);
      return (url?.protocol === 'http:' || url?.protocol === 'https:') && url.pathname === '/' && url.search === '';
    }, example);
}

/** PEM, or the path of a file. */
export function pem() {
  const example = 'expected PEM, or the path of a PEM file';
  return z.string({ error: example }).min(1, example).meta({ kind: 'PEM or file' });
}

/** A value that no API, log or error message may show. */
export function secret(minChars = 1) {
  const message = minChars > 1 ? `expected a secret of at least ${minChars} characters` : 'expected a secret';
  return z
    .string({ error: ({ input }) => unquoted(input) ?? message })
    .min(minChars, message)
    .check((context) => refuseReference(context))
    .meta({ kind: 'secret' });
}

/** YAML has read a secret of digits as a number, which may have lost some of them. */
function unquoted(input: unknown): string | null {
  return typeof input === 'number' ? 'expected a secret in quotes: without them, its digits are a number' : null;
}

/** The part of a credential that is no secret: the id of a key, an application or a directory. */
export function credentialId(maxChars = 200) {
  return someText(maxChars).check((context) => refuseReference(context));
}

/** A secret where a path may be meant: a PEM file, or a variable for a child process. */
export function secretOrPath(minChars = 1) {
  const message = 'expected a secret, or the path of a file';
  return z
    .string({ error: message })
    .min(minChars, message)
    .check((context) => refuseReference(context, true))
    .meta({ kind: 'secret' });
}

/** A reference that nothing reads would be sent as the credential itself. */
function refuseReference(context: z.core.ParsePayload<string>, mayBePath = false): void {
  const message = referenceRefusal(context.value, mayBePath);
  if (message !== null) context.issues.push({ code: 'custom', input: context.value, message });
}

/** S9: a short secret makes signatures forgeable. Counted in bytes, since that is what HMAC sees. */
export function signingSecret() {
  const message = 'expected a secret of at least 32 bytes (openssl rand -base64 32 makes one)';
  return z
    .string({ error: ({ input }) => unquoted(input) ?? message })
    .meta({ kind: 'secret' })
    .check((context) => refuseReference(context))
    .refine((text) => Buffer.byteLength(text) >= 32 || referenceRefusal(text) !== null, message);
}

/** A secret in the form of `signingSecret`, or `whsec_` and base64 as in Standard Webhooks. */
export function webhookSecret() {
  return signingSecret().refine(
    // The other check has already reported a text that is too short.
    (text) => Buffer.byteLength(text) < 32 || webhookKey(text) !== null,
    'expected base64 of at least 24 bytes after whsec_',
  );
}

/** A name that people choose: letters, digits and `_.-`, up to 64; never one that an object already has. */
export function name(what: string) {
  return z
    .string({ error: `expected ${what}` })
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, `${what} has 1 to 64 letters, digits, dots, _ or -`)
    .refine((text) => !(text in Object.prototype), `${what} must not be a reserved word of JavaScript`)
    .meta({ kind: 'name' });
}

/** `off`, or what the given schema takes. */
export function orOff<T extends z.ZodType>(schema: T, expected: string) {
  return z.union([z.literal('off'), schema], { error: `expected off or ${expected}` });
}

export function positiveInt(max = 1_000_000_000) {
  return z.int().min(1).max(max);
}

/** A text that is not empty. */
export function someText(charsMax?: number) {
  const text = z.string().min(1);
  return charsMax === undefined ? text : text.max(charsMax);
}

/** A list of model names in which `*` matches any characters. */
export function globs() {
  return z.array(someText(256)).max(1_000);
}

/** Most units that an endpoint or a model may cost: the product of both, ten images at once, stays a safe integer. */
export const costUnitsMax = 10_000;

/** Quota is counted in thousandths of a unit; a finer amount could not be kept. */
export function milliMultiple<T extends z.ZodType<number>>(schema: T): T {
  return schema.refine((units) => Math.round(units * 1_000) / 1_000 === units, 'expected a multiple of 0.001');
}

/** An IPv4 or IPv6 address, alone or with a prefix length. It has no brackets and no zone. */
export function network() {
  const example = 'expected an address or network such as 10.0.0.0/8';
  return z.string({ error: example }).refine((text) => !/[[%]/.test(text) && parseNetwork(text) !== null, example);
}

/** A network, or one port of one host. */
export function networkOrPlace() {
  const example = 'expected a network such as 10.0.0.0/8 or a place such as 127.0.0.1:9000';
  return z
    .string({ error: example })
    .refine((text) => parsePlace(text) !== null || (!/[[%]/.test(text) && parseNetwork(text) !== null), example);
}
