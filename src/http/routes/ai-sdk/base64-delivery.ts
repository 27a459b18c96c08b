import type { AnswerForm, Bytes, Delivery, Failed, HeaderList, Pace } from '../../../inference/spine/sink.ts';
import { PassedDelivery } from '../passed-delivery.ts';

/** JSON around the two members of a file: `before` ends with a comma or a brace, `after` closes what it opened. */
export interface Base64Frame {
  form: 'events' | 'bytes';
  before: string;
  after: string;
}

/**
 * The caller as a stream of bytes sees it: gives them on as they come, as the members `mediaType` and `data` of a JSON
 * answer or of an event, in base64.
 */
export class Base64Delivery extends PassedDelivery {
  readonly #frame: Base64Frame;
  /** Bytes that do not make three yet. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(next: Delivery, frame: Base64Frame) {
    super(next);
    this.#frame = frame;
  }

  override start(_form: AnswerForm, headers: HeaderList, status = 200): void {
    const { form, before } = this.#frame;
    const at = headers.indexOf('content-type');
    const mediaType = at === -1 ? 'video/mp4' : headers[at + 1];
    const others = headers.filter((_, index) => at === -1 || (index !== at && index !== at + 1));
    const type = form === 'events' ? [] : ['content-type', 'application/json'];
    this.next.start(form, [...others, ...type], status);
    this.next.chunk(`${before}"mediaType":${JSON.stringify(mediaType)},"data":"`);
  }

  override chunk(chunk: Bytes): Pace {
    const bytes = Buffer.concat([this.#rest, typeof chunk === 'string' ? Buffer.from(chunk) : chunk]);
    const whole = bytes.length - (bytes.length % 3);
    this.#rest = bytes.subarray(whole);
    return this.next.chunk(bytes.subarray(0, whole).toString('base64'));
  }

  override end(failed: Failed | null): void {
    if (failed !== null) {
      // A line of an event that is cut is closed, so that the error is an event of itself.
      if (this.committed && this.#frame.form === 'events') this.next.chunk('\n\n');
      return this.next.end(failed);
    }
    this.next.chunk(`${this.#rest.toString('base64')}"${this.#frame.after}`);
    this.next.end(null);
  }
}
