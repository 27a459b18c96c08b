import type { JsonObject } from '../../kernel/json.ts';
import type { ImageSize } from './image-size.ts';

/** Images of one request (design §6). */
export const imagesMax = 10;

export type ImageOutput = 'png' | 'jpeg' | 'webp' | 'gif' | 'svg';

/** How the caller wants each picture: as a link, or in the answer itself. */
export type ImageAnswerForm = 'url' | 'b64_json';

/** A checked request for pictures, between the callers' format and the upstreams'. */
export interface ImageRequest {
  /** The alias as the caller wrote it. */
  model: string;
  prompt: string;
  n: number;
  /** Null = the model's own. */
  size: ImageSize | null;
  /** One of OpenAI's words, of whichever of its models; null = left open, as are those below. */
  quality: string | null;
  style: string | null;
  background: string | null;
  moderation: string | null;
  outputFormat: ImageOutput | null;
  /** 0 to 100. */
  outputCompression: number | null;
  answerForm: ImageAnswerForm;
  /** Streamed as events, with this many unfinished images if possible; null: whole. */
  stream: { partialImages: number } | null;
  /** How closely an edit keeps to its pictures. */
  inputFidelity: string | null;
  /** End-user id for ledger and log. */
  user: string | null;
  /** Unknown members, for upstreams of OpenAI's format. */
  extra: JsonObject;
}

/** Facts of an image request for routing. */
export interface ImageNeeds {
  size: ImageSize | null;
  transparent: boolean;
  outputFormat: ImageOutput | null;
  /** For an edit: the number of images, and whether a mask and drawn notes are given. */
  edit: { pictures: number; mask: boolean; markup: boolean; bytes: number } | null;
}
