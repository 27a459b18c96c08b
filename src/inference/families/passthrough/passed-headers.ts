import { type CredentialHeaders, printable, secretHeader } from '../../../formats/providers/credential-headers.ts';
import type { UpstreamHeaders } from '../../../upstream/transport/upstream-call.ts';

type CallerHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * Headers of one connection, or set for the upstream here; and those that say who called, from where, and to what of the
 * operator's an answer is charged.
 */
const gatewayHeaders = new Set(
  (
    'accept-encoding connection content-length expect host keep-alive te trailer ' +
    'transfer-encoding upgrade forwarded from openai-organization openai-project origin referer ' +
    'traceparent tracestate via x-goog-user-project x-real-ip x-request-id'
  ).split(' '),
);
const gatewayPrefixes = /^(?:x-culvert-|x-forwarded-|proxy-|sec-|cf-)/;
/** `secretHeader` would take it for a key. */
const passedAnyway = 'idempotency-key';

/**
 * The caller's headers that go to the provider, with the credential's own, which take precedence: none of the
 * connection, of the caller's identity, and none whose name sounds like a secret.
 */
export function requestHeaders(caller: CallerHeaders, credential: CredentialHeaders): string[] {
  const headers = new Map<string, string>();
  const perConnection = new Set(
    String(caller.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  for (const [name, value] of Object.entries(caller)) {
    const text = Array.isArray(value) ? value.join(', ') : value;
    const stays = gatewayHeaders.has(name) || gatewayPrefixes.test(name) || perConnection.has(name);
    const isSecret = secretHeader.test(name) && name !== passedAnyway;
    if (text !== undefined && !stays && !isSecret && printable(text)) headers.set(name, text);
  }
  const { get } = credential;
  for (let at = 0; at < get.length; at += 2) {
    if (get[at] !== 'accept' || !headers.has('accept')) headers.set(get[at]!, get[at + 1]!);
  }
  return [...headers].flat();
}

const answerHeaderNames =
  'content-type content-disposition content-language content-range accept-ranges etag last-modified location retry-after'.split(
    ' ',
  );

/** The part of an answer's head that reaches the caller; the rest shows the operator's account at the provider. */
export function answerHeaders(headers: UpstreamHeaders, secrets: readonly string[]): string[] {
  return answerHeaderNames.flatMap((name) => {
    const value = headers.get(name);
    if (value === undefined || !printable(value)) return [];
    return secrets.some((secret) => value.includes(secret)) ? [] : [name, value];
  });
}
