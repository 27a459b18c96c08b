import { StringDecoder } from 'node:string_decoder';
import type { Principal } from '../books/auth/principal.ts';
import type { LoggedBodies } from '../inference/endpoints/services.ts';
import type { AnswerForm, Bytes, Client, Failed, HeaderList, Pace, Sink } from '../inference/spine/sink.ts';
import { factsOf } from '../kernel/failure-facts.ts';

/** Largest part of one body that is logged; of the rest only the length. */
export const loggedBytesMax = 64 * 1024;

/** In place of the texts of a request that a guard changed or refused. */
export const withheld = '[withheld: a guard changed or refused this request]';

export interface BodyLogFacts {
  requestId: string;
  path: string;
  principal: Principal;
  /** Null for an upload, whose files are on disk. */
  body: Buffer | null;
  /** Largest part of one body that is written. */
  bytesMax: number;
  /** `media`: an answer that is no text, where it is whole. */
  write(bodies: LoggedBodies, media: { type: string; bytes: Buffer } | null): void;
  wallMs(): number;
}

/** Whether a list of the configuration, such as `telemetry.log.bodies`, names this key. */
export function isNamed({ account, keyName }: Principal, named: readonly string[]): boolean {
  return named.includes(`${account}/${keyName}`);
}

/**
 * Wraps a sink so that request and answer are written once the answer has ended, in whatever way: at most `bytesMax` of
 * each, without what looks like a credential and what is not text.
 */
export class LoggedSink implements Sink {
  readonly #next: Sink;
  readonly #client: Pick<Client, 'committed'>;
  readonly #facts: BodyLogFacts;
  readonly #answer: LoggedText;
  #status = 200;
  #form = '';
  #written = false;
  #isWithheld = false;

  constructor(next: Sink, client: Pick<Client, 'committed'>, facts: BodyLogFacts) {
    this.#next = next;
    this.#client = client;
    this.#facts = facts;
    this.#answer = new LoggedText(facts.bytesMax);
  }

  /** Neither request nor answer is written, but that there was one. */
  withhold(): void {
    this.#isWithheld = true;
  }

  /** The client left: nothing more comes. */
  left(): void {
    this.#end('the caller left');
  }

  start(form: AnswerForm, headers: HeaderList, status = 200): void {
    this.#status = status;
    this.#form = formOf(headers);
    this.#next.start(form, headers, status);
  }

  chunk(chunk: Bytes): Pace {
    this.#answer.add(chunk);
    return this.#next.chunk(chunk);
  }

  end(failed: Failed | null): void {
    const wasCommitted = this.#client.committed;
    this.#next.end(failed);
    if (failed === null) return this.#end(null);
    const { status, message } = factsOf(failed.failure, this.#facts.wallMs());
    if (!wasCommitted) this.#status = status;
    this.#end(message);
  }

  #end(error: string | null): void {
    if (this.#written) return;
    this.#written = true;
    const { requestId, path, principal, body, bytesMax, write } = this.#facts;
    const request = new LoggedText(bytesMax);
    if (body !== null) request.add(body);
    const media = this.#form === '' || this.#isWithheld ? null : this.#answer.whole();
    const bodies = {
      requestId,
      key: `${principal.account}/${principal.keyName}`,
      path,
      status: this.#status,
      request: this.#isWithheld ? withheld : body === null ? '[upload]' : request.text(''),
      answer: this.#isWithheld ? withheld : this.#answer.text(this.#form),
      ...(error !== null && { error: withoutCredentials(error) }),
    };
    write(bodies, media === null ? null : { type: this.#form, bytes: media });
  }
}

/** The beginning of a body, and how long all of it was. */
export class LoggedText {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #loggedBytes = 0;
  #bytes = 0;

  constructor(bytesMax = loggedBytesMax) {
    this.#bytesMax = bytesMax;
  }

  add(chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#bytes += bytes.length;
    const room = this.#bytesMax - this.#loggedBytes;
    if (room <= 0) return;
    // A copy: what passes through belongs to the transport, which may write over it.
    const piece = Buffer.from(bytes.subarray(0, room));
    this.#pieces.push(piece);
    this.#loggedBytes += piece.length;
  }

  /** The part that is kept. */
  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  /** Null: it is longer than the part that is kept. */
  whole(): Buffer | null {
    return this.#bytes > this.#loggedBytes ? null : this.bytes();
  }

  /** `form`: its media type when it is neither JSON nor events. */
  text(form: string): string {
    if (form !== '') return `[${this.#bytes} bytes of ${form}]`;
    const whole = this.whole();
    if (whole !== null) return withoutCredentials(whole.toString('utf8'));
    // It keeps back the part of a character that the cut left.
    const text = new StringDecoder('utf8').write(this.bytes());
    return `${withoutCredentials(text)}… [${this.#bytes} bytes in all]`;
  }
}

/** '' for text, else the media type. */
function formOf(headers: HeaderList): string {
  const at = headers.indexOf('content-type');
  const type = at < 0 ? '' : headers[at + 1]!.split(';', 1)[0]!;
  return /^(text\/|application\/(json|x-subrip)$)/.test(type) ? '' : type;
}

const secretName = '(?:api[_-]?key|authorization|secret|password|credential|access[_-]?token)';
const secretMember = new RegExp(String.raw`("[\w-]*${secretName}"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|$)`, 'gis');
/** The same within a text of the body, such as a tool's arguments. */
const secretMemberInText = new RegExp(String.raw`(${secretName}\\{1,8}"\s*:\s*\\{1,8}")[^"\\]+`, 'gi');
/** Keys as vendors make them, ours among them. A cut one at the end counts too. */
const secretText =
  /\b(?:sk|pk|rk|xai|gsk|hf|key)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+[A-Za-z0-9._~+/-]{8,}/g;

export function withoutCredentials(text: string): string {
  return text
    .replace(secretMember, '$1"[redacted]"')
    .replace(secretMemberInText, '$1[redacted]')
    .replace(secretText, '[redacted]');
}
