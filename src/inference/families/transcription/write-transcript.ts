import { segmentsOfWords, writeSrt, writeVtt } from '../../../engines/audio/subtitles.ts';
import { deltaEvent, doneEvent, TextPieces } from '../../../formats/media/transcription/events.ts';
import type { Transcript, TranscriptFormat, TranscriptionRequest } from '../../../formats/neutral/transcript.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';

/** Content-Type of each. */
export const typeOfTranscript: Readonly<Record<TranscriptFormat, string>> = {
  json: 'application/json',
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
  verbose_json: 'application/json',
  diarized_json: 'application/json',
};

/** A whole transcript as the caller wants it. */
export function writeTranscript(request: TranscriptionRequest, transcript: Transcript): string {
  switch (request.format) {
    case 'json':
      return JSON.stringify(transcript.reported ?? { text: transcript.text, ...durationUsage(transcript) });
    case 'text':
      return `${transcript.text.trim()}\n`;
    case 'srt':
      return writeSrt(timedText(transcript));
    case 'vtt':
      return writeVtt(timedText(transcript));
    case 'verbose_json':
      return JSON.stringify(verbose(request, transcript));
    case 'diarized_json':
      return JSON.stringify(diarized(transcript));
  }
}

/** The same as events, all at once; with speakers, a segment for each of theirs behind the text. */
export function writeTranscriptEvents({ format }: TranscriptionRequest, transcript: Transcript): string {
  const { text, durationS, segments } = transcript;
  const pieces = new TextPieces();
  const shown = (segments ?? []).map((segment) => pieces.add(segment.text));
  const whole = text.trim();
  // Segments may leave out what the text has.
  const deltas = (pieces.text === whole ? shown : [whole]).filter((piece) => piece !== '').map(deltaEvent);
  const bySpeaker = format === 'diarized_json' ? diarizedSegments(transcript) : [];
  const turns = bySpeaker.map((segment) => `data: ${JSON.stringify(segment)}\n\n`);
  return [...deltas, ...turns, doneEvent(whole, durationS)].join('');
}

function timedText({ segments, words }: Transcript) {
  return segments ?? (words === null ? [] : segmentsOfWords(words));
}

function durationUsage({ durationS }: Transcript): JsonObject {
  return durationS === null ? {} : { usage: { type: 'duration', seconds: durationS } };
}

/** Values stay as the service reported them; a missing one is null, never invented. */
function verbose({ task, lists }: TranscriptionRequest, transcript: Transcript): JsonObject {
  const { text, language, durationS, words, reported } = transcript;
  return {
    task,
    language,
    duration: durationS,
    text,
    ...(lists.segments && { segments: verboseSegments(transcript) }),
    ...(lists.words && { words: words?.map(({ word, startS, endS }) => ({ word, start: startS, end: endS })) ?? null }),
    ...durationUsage(transcript),
    ...withoutNulls(reported),
  };
}

function diarized(transcript: Transcript): JsonObject {
  const { text, durationS, reported } = transcript;
  return {
    task: 'transcribe',
    duration: durationS,
    text,
    ...durationUsage(transcript),
    ...withoutNulls(reported),
    segments: diarizedSegments(transcript),
  };
}

/** Unchanged, with the members that OpenAI's have. */
function diarizedSegments({ segments, reported }: Transcript): JsonObject[] {
  const reportedSegments = Array.isArray(reported?.segments) ? reported.segments : [];
  return (segments ?? []).map(({ startS, endS, text, speaker = null }, at) => ({
    id: `seg_${at}`,
    start: startS,
    end: endS,
    text,
    speaker,
    ...withoutNulls(isObject(reportedSegments[at]) ? reportedSegments[at] : null),
    type: 'transcript.text.segment',
  }));
}

function verboseSegments({ segments }: Transcript): JsonValue {
  if (segments === null) return null;
  return segments.map(({ startS, endS, text }, id) => ({
    id,
    seek: null,
    start: startS,
    end: endS,
    text,
    tokens: null,
    temperature: null,
    avg_logprob: null,
    compression_ratio: null,
    no_speech_prob: null,
  }));
}

function withoutNulls(object: JsonObject | null): JsonObject {
  return Object.fromEntries(Object.entries(object ?? {}).filter(([, value]) => value !== null && value !== undefined));
}
