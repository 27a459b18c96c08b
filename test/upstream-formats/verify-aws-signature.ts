import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A request as it came over the wire. */
export interface SignedRequest {
  method: string;
  /** Path and query, as they stand in the request line. */
  target: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface KnownKeys {
  accessKeyId: string;
  secretAccessKey: string;
  /** Demanded as x-amz-security-token. */
  sessionToken?: string;
}

const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;

/**
 * What AWS would say of the signature (Signature Version 4, "Create a signed request"), computed here by the published
 * steps and by no library: null when it is right.
 */
export function signatureFault(request: SignedRequest, keys: KnownKeys, service: string): string | null {
  const parts = authorization.exec(request.headers.authorization ?? '');
  if (parts === null) return 'the Authorization header is none of AWS4-HMAC-SHA256';
  const [, id, day, region, signedService, names = '', signature] = parts;
  if (id !== keys.accessKeyId) return 'the access key is not known';
  if (signedService !== service) return `signed for ${signedService}, not for ${service}`;
  const date = header(request.headers, 'x-amz-date');
  if (!date.startsWith(day!)) return 'the date of the scope is another one';
  if (Math.abs(Date.now() - wallMs(date)) > 5 * 60_000) return 'the signature expired';
  if (keys.sessionToken !== undefined && header(request.headers, 'x-amz-security-token') !== keys.sessionToken) {
    return 'the session token is wrong';
  }
  const signed = names.split(';');
  for (const needed of ['host', 'x-amz-date']) if (!signed.includes(needed)) return `${needed} is not signed`;
  const [path = '', query = ''] = request.target.split('?', 2);
  const canonical = [
    request.method,
    // Each segment is encoded once more than it is sent.
    path.split('/').map(encoded).join('/'),
    query.split('&').sort().join('&'),
    ...signed.map((name) => `${name}:${header(request.headers, name).trim().replace(/ +/g, ' ')}`),
    '',
    names,
    sha256(request.body),
  ].join('\n');
  const scope = `${day}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(Buffer.from(canonical))].join('\n');
  const key = [day!, region!, service, 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${keys.secretAccessKey}`));
  return hmac(key, toSign).toString('hex') === signature ? null : 'the signature does not match';
}

function header(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '');
}

function encoded(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function wallMs(date: string): number {
  return Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
