import { readTranscriptEvents } from '../dialects/transcription/events.ts';
import type { TranscriptionDialect } from '../dialects/transcription/format.ts';
import type { Fault } from '../neutral/outcome.ts';
import type { TranscriptionRequest } from '../neutral/transcript.ts';
import type { Usage } from '../neutral/usage.ts';
import type { AnswerReader } from '../spine/answer-reader.ts';
import { PassedStream, parseAnswer, UnlikeAnswer, WholeBody } from '../spine/pass-through.ts';
import type { Bytes } from '../spine/sink.ts';
import { writeTranscript, writeTranscriptEvents } from './write-transcript.ts';

/** Who reads an upstream's transcript; some answer whole whatever was asked. */
export function transcriptReader(
  dialect: TranscriptionDialect,
  request: TranscriptionRequest,
  contentType: string,
): AnswerReader {
  if (!contentType.startsWith('text/event-stream')) return new WholeTranscript(dialect, request);
  return request.stream ? new PassedStream({ readInPassing: readTranscriptEvents }, 'show') : new UnlikeAnswer(false);
}

/** A transcript in one piece, given on in whatever form the caller wants. */
class WholeTranscript implements AnswerReader {
  contentEvents = 0;
  readonly malformedLines = 0;
  readonly done = false;
  readonly outputTokensSeen = 0;
  fault: Fault | null = null;
  usage: Usage | null = null;
  readonly #dialect: TranscriptionDialect;
  readonly #request: TranscriptionRequest;
  readonly #body = new WholeBody();

  constructor(dialect: TranscriptionDialect, request: TranscriptionRequest) {
    this.#dialect = dialect;
    this.#request = request;
  }

  push(chunk: Buffer): null {
    this.fault ??= this.#body.add(chunk);
    return null;
  }

  finish(): Bytes | null {
    if (this.fault !== null) return null;
    const request = this.#request;
    const bytes = this.#body.bytes();
    const parsed = parseAnswer(bytes);
    this.fault = parsed.fault;
    if (this.fault !== null) return null;
    const decoded = this.#dialect.decode(parsed.value, { request });
    if ('class' in decoded) {
      this.fault = decoded;
      return null;
    }
    this.usage = decoded.usage;
    this.contentEvents = 1;
    if (request.stream) return writeTranscriptEvents(decoded.transcript);
    // In the caller's own format: its own bytes.
    if (request.format === 'json' && decoded.transcript.told !== null) return bytes;
    return writeTranscript(request, decoded.transcript);
  }
}
