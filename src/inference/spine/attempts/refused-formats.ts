import type { Fault } from '../../../formats/neutral/outcome.ts';
import { putNewest } from '../../../kernel/put-newest.ts';

/** Maximum number of further audio formats in which one attempt asks one target again. */
export const otherFormatsMax = 2;

const namesFormat = /(?<![a-z])(?:mp3|mpeg|wav|pcm|opus|ogg|flac|aac|m4a|webm|aiff|amr)(?![a-z])/i;
const refusing = /format|codec|container|encoding|support|type|invalid|must|\buse\b|only|expected|allowed|decode/i;

/** True if an upstream refused the audio format that it was asked for, or was sent. */
export function refusesFormat({ class: outcome, status, param, message }: Fault): boolean {
  if (outcome !== 'caller_fault' || (status !== 400 && status !== 415 && status !== 422)) return false;
  if (param === 'response_format' || /response_?format/i.test(message)) return true;
  return namesFormat.test(message) && refusing.test(message);
}

/**
 * Format to ask for instead: of `formats`, best first, one that the refusal names ("use pcm") and that was not `tried`,
 * else the next. Null: none is left.
 */
export function otherFormat<F extends string>(
  { message }: Fault,
  formats: readonly F[],
  tried: readonly string[],
): F | null {
  const left = formats.filter((format) => !tried.includes(format));
  const named = left.find((format) => new RegExp(`(?<![a-z])${format}(?![a-z])`, 'i').test(message));
  return named ?? left[0] ?? null;
}

/** Targets whose refusals are remembered; beyond it the first ones are forgotten, and asked once more in vain. */
const rememberedTargetsMax = 1_000;

const none: ReadonlySet<string> = new Set();

/** Audio formats that targets refused and did without. Of one process, in memory. */
export class RefusedFormats {
  readonly #byTarget = new Map<string, Set<string>>();

  /** Formats that a target, by its id, is no longer asked for, or sent. */
  of(use: 'speech' | 'transcription', target: string): ReadonlySet<string> {
    return this.#byTarget.get(`${use} ${target}`) ?? none;
  }

  /** A target that refused these gave, or took, another. */
  remember(use: 'speech' | 'transcription', target: string, formats: readonly string[]): void {
    const key = `${use} ${target}`;
    const known = this.#byTarget.get(key) ?? new Set();
    for (const format of formats) known.add(format);
    putNewest(this.#byTarget, key, known, rememberedTargetsMax);
  }
}
