import type { AnswerForm, Bytes, Client, Failed, HeaderList, Pace, Sink } from '../src/inference/spine/sink.ts';

/** A client that keeps what it receives, and leaves or falls behind when the test says so. */
export class FakeClient implements Client, Sink {
  cutFor: Client['cutFor'] = null;
  disconnected = false;
  committed = false;
  /** It takes nothing more for now. */
  behind = false;
  readonly chunks: Bytes[] = [];
  status = 0;
  headers: HeaderList = [];
  failed: Failed | null = null;
  /** How often the answer was ended. */
  ends = 0;
  readonly #onEnd: (failed: Failed | null) => void;
  #gone = () => {};
  #drain = () => {};

  constructor(onEnd: (failed: Failed | null) => void = () => {}) {
    this.#onEnd = onEnd;
  }

  /** All it got, as text. */
  get text(): string {
    return this.chunks.map(String).join('');
  }

  onDisconnect(listener: () => void): void {
    this.#gone = listener;
  }

  onDrain(listener: () => void): void {
    this.#drain = listener;
  }

  start(form: AnswerForm, headers: HeaderList, status = 200): void {
    if (form !== 'whole') this.committed = true;
    this.headers = headers;
    this.status = status;
  }

  chunk(chunk: Bytes): Pace {
    this.chunks.push(chunk);
    return this.behind ? 'behind' : 'ready';
  }

  end(failed: Failed | null): void {
    this.ends++;
    this.failed = failed;
    this.#onEnd(failed);
  }

  leave(): void {
    this.disconnected = true;
    this.#gone();
  }

  catchUp(): void {
    this.behind = false;
    this.#drain();
  }
}
