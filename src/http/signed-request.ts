import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Claim of a request that is signed as AWS's are (Signature Version 4). */
export interface SignedClaim {
  accessKeyId: string;
  /** Scope of the signature. */
  day: string;
  region: string;
  service: string;
  /** Names of the headers that are signed, in order. */
  names: readonly string[];
  signature: Buffer;
  /** `x-amz-date`, and the same as wall-clock ms. */
  date: string;
  atMs: number;
}

const form =
  /^AWS4-HMAC-SHA256\s+Credential=([\w-]{1,256})\/(\d{8})\/([\w-]{1,64})\/([\w-]{1,64})\/aws4_request,\s*SignedHeaders=([a-z0-9;:-]{1,2048}),\s*Signature=([0-9a-f]{64})$/;
const dateForm = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

/** Whether a request says that it is signed so. */
export function isSigned({ authorization }: IncomingHttpHeaders): boolean {
  return authorization?.startsWith('AWS4-HMAC-SHA256') === true;
}

/** Null for a claim that cannot be read, or that leaves out the host or the date. */
export function claimIn(headers: IncomingHttpHeaders): SignedClaim | null {
  const [, accessKeyId = '', day = '', region = '', service = '', signed = '', signature = ''] =
    form.exec(headers.authorization ?? '') ?? [];
  const date = headerText(headers, 'x-amz-date');
  const atMs = Date.parse(date.replace(dateForm, '$1-$2-$3T$4:$5:$6Z'));
  const names = signed.split(';');
  const isWhole =
    dateForm.test(date) &&
    date.startsWith(day) &&
    (names.includes('host') || names.includes(authority)) &&
    names.includes('x-amz-date');
  if (accessKeyId === '' || !isWhole || Number.isNaN(atMs)) return null;
  return { accessKeyId, day, region, service, names, signature: Buffer.from(signature, 'hex'), date, atMs };
}

/** The signed parts of a request, without its claim. */
export interface SignedParts {
  method: string;
  /** Path and query, as the request line has them. */
  target: string;
  headers: IncomingHttpHeaders;
  /** Hex SHA-256 of the body. */
  bodyHash: string;
}

/** Whether the signature is that of the holder of `secretAccessKey` (AWS's "Create a signed request"). In constant time. */
export function isSignatureOf(secretAccessKey: string, claim: SignedClaim, parts: SignedParts): boolean {
  const { day, region, service, names, date, signature } = claim;
  const at = parts.target.indexOf('?');
  const path = at < 0 ? parts.target : parts.target.slice(0, at);
  const canonical = [
    parts.method,
    // Each segment is encoded once more than it was sent.
    path.split('/').map(encoded).join('/'),
    at < 0 ? '' : canonicalQuery(parts.target.slice(at + 1)),
    ...names.map((name) => `${name}:${headerText(parts.headers, name).trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    parts.bodyHash,
  ].join('\n');
  const scope = [day, region, service, 'aws4_request'];
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(Buffer.from(canonical))].join('\n');
  const key = scope.reduce<Buffer>(hmac, Buffer.from(`AWS4${secretAccessKey}`));
  return timingSafeEqual(hmac(key, toSign), signature);
}

/** Hex. */
export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Name of the host in HTTP/2, which AWS's SDK for JavaScript signs there. */
const authority = ':authority';

function headerText(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name === authority ? 'host' : name] ?? '';
  return Array.isArray(value) ? value.join(',') : value;
}

/** In order of names, then of values: `a` comes before `a1`, though `=` comes after `1`. */
function canonicalQuery(query: string): string {
  const pairs = query.split('&').filter((pair) => pair !== '');
  return pairs
    .map((pair) => pair.replace(/=|$/, '\0'))
    .sort()
    .map((pair) => pair.replace('\0', '='))
    .join('&');
}

function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
