import type { JsonObject } from '../../../kernel/json.ts';
import { type Loss, lossesOfRest } from '../../neutral/loss.ts';
import type { Fault } from '../../neutral/outcome.ts';
import type { InlinePicture } from '../images/format.ts';

/** The formats in which upstreams are asked for videos: OpenAI's jobs, and Google's long-running predictions. */
export type VideoFormatId = 'openai' | 'veo';

/** One of them. Pure: no I/O, no clock. */
export interface VideoFormat {
  id: VideoFormatId;
  /** Part of a request that it cannot do, in words for people that begin with the field; null: it can do all. */
  unmet(request: VideoRequest): { field: string; message: string } | null;
  /** The members of a body; `picture`: in base64, for formats that take it inside their JSON. */
  encode(request: VideoRequest, model: string, picture: InlinePicture | null): JsonObject;
  /** A 2xx answer to it. */
  started(body: unknown): StartedVideo | Fault;
}

/** A job of OpenAI's as it is, or the operation that becomes one. */
export type StartedVideo = { job: JsonObject & { id: string } } | { operation: string };

/** A checked request for a video. */
export interface VideoRequest {
  model: string;
  prompt: string;
  /** Length of the clip; what is charged. */
  seconds: number;
  size: { width: number; height: number } | null;
  /** Its first picture by URL, `data:` too; null: none, or a file. */
  pictureUrl: string | null;
  /** Members that only the provider knows. */
  extra: JsonObject;
  user: string | null;
}

const taken: ReadonlySet<string> = new Set<keyof VideoRequest>([
  'model',
  'prompt',
  'seconds',
  'size',
  'pictureUrl',
  'extra',
]);

/** Fields that no format has a place for. */
export function lossesOf(request: VideoRequest): Loss[] {
  return lossesOfRest(request, taken);
}

/** Facts of a service that makes videos, as data. */
export interface VideoFacts {
  format: VideoFormatId;
  /** Upstream ids of models that make videos. */
  models: RegExp;
  /** Below the base URL. */
  pathOf(model: string, options: { apiVersion: string | null }): string;
  /** Path of an operation at Google, below the base URL; a body makes it a POST. */
  operation?(model: string, name: string): { path: string; body: JsonObject | null };
}

/** Facts of a job at Google, which its id holds. */
export interface VideoOperation {
  model: string;
  name: string;
  seconds: number;
  size: string | null;
  createdS: number;
}
