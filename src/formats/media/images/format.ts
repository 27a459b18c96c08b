import type { JsonObject } from '../../../kernel/json.ts';
import type { ImageOutput, ImageRequest } from '../../neutral/image.ts';
import type { ImageSizes } from '../../neutral/image-size.ts';
import type { Loss } from '../../neutral/loss.ts';
import type { Fault } from '../../neutral/outcome.ts';

/** The formats in which upstreams are asked for pictures. */
export type ImageFormatId =
  | 'openai'
  | 'gemini'
  | 'imagen'
  | 'a1111'
  | 'fireworks'
  | 'fal'
  | 'replicate'
  | 'bfl'
  | 'stability'
  | 'bedrock-stability'
  | 'nova-canvas';

/** One of them. Pure: no I/O, no clock. */
export interface ImageFormat {
  id: ImageFormatId;
  encode(order: ImageOrder): EncodedImages;
  /** For services that take a job and draw later: `decode` then reads the state with which it ended. */
  job?: {
    /** Address of its state, by the answer that began it; null: it does not say. */
    at(begun: JsonObject): string | null;
    /** Hosts of the service that it may name, in addition to the one that was asked. */
    hosts: RegExp;
    /** True if a state says that it still runs. */
    runs(state: JsonObject): boolean;
  };
  /** Color for the transparent parts of a mask, if it wants masks of pure black and white; absent: it takes alpha. */
  maskedAs?(request: ImageRequest): MaskedAs;
  /** Content of a 2xx answer: at least one picture, else a Fault. */
  decode(body: unknown): DecodedImages | Fault;
}

/** One call of an upstream: some of a request's pictures. */
export interface ImageOrder {
  /** Upstream model id. */
  model: string;
  count: number;
  request: ImageRequest;
  facts: ImageModelFacts;
  /** The images to edit, for formats that take them inside their JSON; null for new images. */
  source: ImageSource | null;
}

/**
 * Pictures as base64, or as marks that replace it until the body is sent; a mask's transparent parts are those to be
 * made anew.
 */
export interface ImageSource {
  pictures: readonly InlinePicture[];
  mask: InlinePicture | null;
}

export interface InlinePicture {
  mediaType: string;
  base64: string;
}

/** Transparent parts as one, the rest as the other. */
export type MaskedAs = 'black' | 'white';

export interface EncodedImages {
  body: JsonObject;
  losses: Loss[];
}

export interface DecodedImages {
  images: readonly DecodedImage[];
  usage: ImageTokens | null;
  /** Facts that the upstream gives of its image; OpenAI's members. */
  reported: JsonObject;
}

/** A picture in base64, without a `data:` prefix, or its address. */
export type DecodedImage = ({ base64: string } | { url: string }) & { revisedPrompt: string | null };

/** Usage of models that count in tokens. */
export interface ImageTokens {
  inputTokens: number;
  outputTokens: number;
  /** Text tokens of the input, if they are counted separately. */
  textTokens: number | null;
  imageTokens: number | null;
  /** Tokens of the output by kind; absent: the provider counts them together. */
  made?: { textTokens: number; imageTokens: number };
}

/** Fields of a request that a model may or may not take. */
export type ImageField =
  | 'quality'
  | 'style'
  | 'background'
  | 'moderation'
  | 'output_format'
  | 'output_compression'
  | 'input_fidelity'
  | 'user';

/** Facts of one model that makes pictures, as plain data. */
export interface ImageModelFacts {
  format: ImageFormatId;
  /** Most images of one call. */
  perCall: number;
  sizes: ImageSizes;
  /** OpenAI's format only. `sides`: as `width` and `height`. */
  sizeAs?: 'sides';
  /** OpenAI's format only: further members by which an engine in the operator's network would fetch what a caller names. */
  without?: readonly string[];
  /** `asked`: knows `response_format`; else the field is left out, and any form is accepted. */
  gives: 'asked' | 'its-own';
  takes: 'all' | readonly ImageField[];
  /** Words for `quality` that it knows; absent: all. */
  qualities?: readonly string[];
  /** Its output formats; absent: nobody here knows, so it gets the wish and judges itself. */
  outputs?: readonly ImageOutput[];
  /** Can leave the background out; absent: nobody knows. */
  transparent?: boolean;
  /** Streams a single picture, unfinished ones first, in OpenAI's events; absent: it does not. */
  previews?: true;
  /** Bounds of its changes to pictures; absent: it makes none. */
  edits?: { picturesMax: number; mask: boolean; bytesMax?: number };
}

/** Facts of a service that makes pictures, as data. */
export interface ImageFacts {
  /** Path below the base URL; `edit` is for models that only edit. */
  pathOf(model: string, task: 'generate' | 'edit', options: { apiVersion: string | null }): string;
  /** The first pattern that matches decides, over the id without a vendor's prefix, in lower case. */
  families: readonly ({ pattern: RegExp } & ImageModelFacts)[];
  /** Models of no known family; null: it makes no pictures with them. */
  others: ImageModelFacts | null;
}

/** Null when the service makes no pictures with this model. */
export function imageModelFacts({ families, others }: ImageFacts, model: string): ImageModelFacts | null {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  const family = families.find(({ pattern }) => pattern.test(name));
  if (family === undefined) return others;
  const { pattern: _, ...facts } = family;
  return facts;
}
