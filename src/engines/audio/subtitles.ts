/** A text with the time when it is spoken, in seconds from the beginning. */
export interface TimedText {
  startS: number;
  endS: number;
  text: string;
}

/** SubRip: numbered cues, `HH:MM:SS,mmm`. Cues without text are left out. */
export function writeSrt(segments: readonly TimedText[]): string {
  const cues = cuesOf(segments).map(
    ({ startMs, endMs, text }, index) =>
      `${index + 1}\n${timestamp(startMs, ',')} --> ${timestamp(endMs, ',')}\n${text}\n\n`,
  );
  return cues.join('');
}

/** WebVTT: `HH:MM:SS.mmm`. Markup in it is escaped. */
export function writeVtt(segments: readonly TimedText[]): string {
  const cues = cuesOf(segments).map(
    ({ startMs, endMs, text }) =>
      `${timestamp(startMs, '.')} --> ${timestamp(endMs, '.')}\n${text.replace(/&/g, '&amp;').replace(/</g, '&lt;')}\n\n`,
  );
  return `WEBVTT\n\n${cues.join('')}`;
}

function cuesOf(segments: readonly TimedText[]): { startMs: number; endMs: number; text: string }[] {
  return segments
    .map(({ startS, endS, text }) => {
      const startMs = wholeMs(startS);
      return { startMs, endMs: Math.max(startMs, wholeMs(endS)), text: cueText(text) };
    })
    .filter(({ text }) => text !== '');
}

/** Rounded as a whole, so that 999.6 ms are the next second and never `,1000`. */
function wholeMs(seconds: number): number {
  return Number.isFinite(seconds) && seconds > 0 ? Math.round(seconds * 1000) : 0;
}

/** A blank line would end the cue, an arrow would begin one. */
function cueText(text: string): string {
  return text
    .split(/[\r\n\u2028\u2029]+/)
    .map((line) => line.trim().replaceAll('-->', '->'))
    .filter((line) => line !== '')
    .join('\n');
}

function timestamp(ms: number, decimalMark: ',' | '.'): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const seconds = Math.floor(ms / 1000);
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${clock}${decimalMark}${String(ms % 1000).padStart(3, '0')}`;
}

/** Two lines on a screen. */
const cueCharactersMax = 84;
const cueSecondsMax = 6;
/** A longer pause begins a new cue. */
const pauseSeconds = 0.8;

/**
 * Cues from words, when there are no segments: words are joined up to the size of a screen, and the end of a sentence
 * ends a cue.
 */
export function segmentsOfWords(words: readonly { word: string; startS: number; endS: number }[]): TimedText[] {
  const segments: TimedText[] = [];
  let current: TimedText | null = null;
  for (const { word, startS, endS } of words) {
    const text = word.trim();
    if (text === '') continue;
    const fits: boolean =
      current !== null &&
      !/[.!?\u3002\uff01\uff1f]$/.test(current.text) &&
      startS - current.endS <= pauseSeconds &&
      endS - current.startS <= cueSecondsMax &&
      current.text.length + 1 + text.length <= cueCharactersMax;
    if (current !== null && fits) {
      current.text += ` ${text}`;
      current.endS = endS;
    } else {
      current = { startS, endS, text };
      segments.push(current);
    }
  }
  return segments;
}
