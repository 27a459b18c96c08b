import type { ImageTokens } from '../../../formats/media/images/format.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { CheckedPicture } from './image-codec.ts';

/** A picture that will be the caller's: looked at, or where the upstream keeps it. */
export type GatheredImage = (CheckedPicture | { url: string }) & { revisedPrompt: string | null };

/** The images of one request, over all its attempts: finished ones are kept when a call fails. */
export class GatheredImages {
  readonly images: GatheredImage[] = [];
  /** The upstream's facts of its image, from the call that was answered first. */
  reported: JsonObject | null = null;
  readonly requested: number;
  #tokens: ImageTokens | null = null;
  #allReported = true;

  constructor(requested: number) {
    this.requested = requested;
  }

  get missing(): number {
    return this.requested - this.images.length;
  }

  /** Usage of all calls; null when one of them gave none. */
  get usage(): ImageTokens | null {
    return this.#allReported ? this.#tokens : null;
  }

  /** Adds the images of one call. Surplus ones are left out: a concurrent attempt may have been faster. */
  add(images: readonly GatheredImage[], tokens: ImageTokens | null, reported: JsonObject): void {
    this.images.push(...images.slice(0, this.missing));
    this.reported ??= reported;
    if (tokens === null) this.#allReported = false;
    else this.#tokens = sumOf(this.#tokens, tokens);
  }
}

function sumOf(before: ImageTokens | null, next: ImageTokens): ImageTokens {
  if (before === null) return next;
  const both = (one: number | null, other: number | null) => (one === null || other === null ? null : one + other);
  const [one, other] = [before.made, next.made];
  const made = one !== undefined &&
    other !== undefined && {
      made: { textTokens: one.textTokens + other.textTokens, imageTokens: one.imageTokens + other.imageTokens },
    };
  return {
    ...made,
    inputTokens: before.inputTokens + next.inputTokens,
    outputTokens: before.outputTokens + next.outputTokens,
    textTokens: both(before.textTokens, next.textTokens),
    imageTokens: both(before.imageTokens, next.imageTokens),
  };
}
