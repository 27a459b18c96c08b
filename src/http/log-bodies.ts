import type { Principal } from '../books/auth/principal.ts';
import type { LoggedBodies } from '../inference/endpoints/services.ts';
import type { AnswerForm, Bytes, Client, Failed, HeaderList, Pace, Sink } from '../inference/spine/sink.ts';
import { factsOf } from '../kernel/failure.ts';

/** Largest part of one body that is logged; of the rest only the length. */
const loggedBytesMax = 64 * 1024;

/** In place of the texts of a request that a guard changed or refused. */
export const withheld = '[withheld: a guard changed or refused this request]';

export interface BodyLogFacts {
  requestId: string;
  path: string;
  principal: Principal;
  /** Null for an upload, whose files are on disk. */
  body: Buffer | null;
  write(bodies: LoggedBodies): void;
  wallMs(): number;
}

/** Whether a list of the configuration, such as `telemetry.log.bodies`, names this key. */
export function isNamed({ account, keyName }: Principal, named: readonly string[]): boolean {
  return named.includes(`${account}/${keyName}`);
}

/**
 * Wraps a sink so that request and answer are logged once the answer has ended, in whatever way. It logs at most
 * `loggedBytesMax` of each, and leaves out what looks like a credential and what is not text.
 */
export class LoggedSink implements Sink {
  readonly #next: Sink & Pick<Client, 'committed'>;
  readonly #facts: BodyLogFacts;
  readonly #answer = new LoggedText();
  #status = 200;
  #form = '';
  #written = false;
  #isWithheld = false;

  constructor(next: Sink & Pick<Client, 'committed'>, facts: BodyLogFacts) {
    this.#next = next;
    this.#facts = facts;
  }

  /** Neither request nor answer is logged, but that there was one. */
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
    const wasCommitted = this.#next.committed;
    this.#next.end(failed);
    if (failed === null) return this.#end(null);
    const { status, message } = factsOf(failed.failure, this.#facts.wallMs());
    if (!wasCommitted) this.#status = status;
    this.#end(message);
  }

  #end(error: string | null): void {
    if (this.#written) return;
    this.#written = true;
    const { requestId, path, principal, body, write } = this.#facts;
    const request = new LoggedText();
    if (body !== null) request.add(body);
    write({
      requestId,
      key: `${principal.account}/${principal.keyName}`,
      path,
      status: this.#status,
      request: this.#isWithheld ? withheld : body === null ? '[upload]' : request.text(''),
      answer: this.#isWithheld ? withheld : this.#answer.text(this.#form),
      ...(error !== null && { error: withoutCredentials(error) }),
    });
  }
}

/** The beginning of a body, and how long all of it was. */
export class LoggedText {
  #pieces: Buffer[] = [];
  #loggedBytes = 0;
  #bytes = 0;

  add(chunk: Buffer | string): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.#bytes += bytes.length;
    const room = loggedBytesMax - this.#loggedBytes;
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

  /** `form`: its media type when it is neither JSON nor events. */
  text(form: string): string {
    if (form !== '') return `[${this.#bytes} bytes of ${form}]`;
    const text = withoutCredentials(this.bytes().toString('utf8'));
    return this.#bytes > this.#loggedBytes ? `${text}… [${this.#bytes} bytes in all]` : text;
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
