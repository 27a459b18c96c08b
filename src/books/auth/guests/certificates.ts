import { hash, X509Certificate } from 'node:crypto';
import type { CertificatesConfig } from '../../../config/schema/schema-callers.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { type Failure, isFailure, unauthenticated } from '../../../kernel/failure.ts';
import type { TokenCaller } from '../tokens/token-caller.ts';

/** Certificates that a process remembers, by the header's text; a forgotten one is read again. */
const certificatesMax = 1_000;
const headerCharsMax = 16_384;

const unreadable = unauthenticated('The proxy sent a client certificate that cannot be read.');
const notNow = unauthenticated('The client certificate is not valid at this time.');
const unnamed = unauthenticated('The client certificate names nobody whom this server knows.');

interface Read {
  caller: TokenCaller;
  fromMs: number;
  untilMs: number;
}

/** Callers by the client certificate that a proxy has verified and sends on in a header. */
export class Certificates {
  readonly #config: CertificatesConfig;
  readonly #clock: Pick<Clock, 'wallMs'>;
  readonly #read = new Map<string, Read | Failure>();

  constructor(config: CertificatesConfig, clock: Pick<Clock, 'wallMs'>) {
    this.#config = config;
    this.#clock = clock;
  }

  /** The caller of the certificate in these headers; null: none came. */
  caller(headers: Readonly<Record<string, string | readonly string[] | undefined>>): TokenCaller | Failure | null {
    const sent = headers[this.#config.header];
    const text = typeof sent === 'string' ? sent : sent?.[0];
    if (text === undefined || text === '') return null;
    const read = this.#known(text);
    if (isFailure(read)) return read;
    const now = this.#clock.wallMs();
    return now < read.fromMs || now > read.untilMs ? notNow : read.caller;
  }

  #known(text: string): Read | Failure {
    const known = this.#read.get(text);
    if (known !== undefined) return known;
    const read = this.#reading(text);
    if (this.#read.size >= certificatesMax) this.#read.clear();
    this.#read.set(text, read);
    return read;
  }

  #reading(text: string): Read | Failure {
    const certificate = text.length > headerCharsMax ? null : certificateIn(text);
    if (certificate === null) return unreadable;
    const names = namesOf(certificate);
    const entry = this.#config.accounts.find(({ match }) => names.some((name) => fits(match, name)));
    if (entry === undefined) return unnamed;
    const name = names.find((one) => fits(entry.match, one)) ?? '';
    const identity = hash('sha256', `certificate\n${name}\n${entry.account}`, 'hex').slice(0, 24);
    const { account, plan = null, models = null } = entry;
    return {
      caller: { keyId: `guest_${identity}`, name: name.slice(0, 80), account, plan, models, source: 'certificates' },
      fromMs: Date.parse(certificate.validFrom),
      untilMs: Date.parse(certificate.validTo),
    };
  }
}

/**
 * The certificate in the forms that proxies write: PEM, percent-encoded or not (nginx, AWS), base64 of DER, also between
 * colons (Traefik, Caddy, RFC 9440), and `Cert="…"` of Envoy's `x-forwarded-client-cert`. Of several, the first is meant.
 */
function certificateIn(text: string): X509Certificate | null {
  const quoted = /(?:^|[;,])\s*Cert="([^"]+)"/i.exec(text)?.[1];
  const plain = decoded(quoted ?? text);
  const pem = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/.exec(plain)?.[1];
  const [first = ''] = (pem ?? plain).split(',');
  const bytes = Buffer.from(first.replace(/[\s:]/g, ''), 'base64');
  try {
    return new X509Certificate(bytes);
  } catch {
    return null;
  }
}

/** A plus sign means itself: in base64 it is a digit. */
function decoded(text: string): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text;
  } catch {
    return text;
  }
}

/** Names that an operator may match: alternative names as URI, DNS name and e-mail address, common name, fingerprint. */
function namesOf(certificate: X509Certificate): string[] {
  const { subjectAltName: all = '' } = certificate;
  // Node puts what could be taken for several names between quotes.
  const alternative = all.includes('"')
    ? []
    : all.split(', ').flatMap((entry) => /^(?:URI|DNS|email):(.+)$/.exec(entry)?.[1] ?? []);
  const { CN: common } = certificate.toLegacyObject().subject;
  // Free text, which must not pass for a URI or a fingerprint.
  const isPlain = typeof common === 'string' && !/^(?:sha256|urn):|:\/\//i.test(common);
  const fingerprint = `sha256:${certificate.fingerprint256.replaceAll(':', '').toLowerCase()}`;
  return [...alternative, ...(isPlain ? [common] : []), fingerprint];
}

/** `*` in a pattern is any text. */
function fits(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop() ?? '';
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
